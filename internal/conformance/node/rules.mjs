// Clients built on the official SDKs, one after the other, that list, call and read behind a gateway with rules. It prints what they got. Its argument is a JSON object:
//   url      the endpoint
//   clients  { user, headers, sdk, era: as for http.mjs }
//   tools    the names of tools
//   calls    the arguments that each is called with
//   uris     of the resources that are read
const { url, clients, tools, calls, uris } = JSON.parse(process.argv[2]);

const said = async what => {
  try {
    return JSON.stringify(await what);
  } catch (error) {
    return error.message;
  }
};
const all = [];
for (const { user, headers, sdk, era } of clients) {
  const v1 = sdk === 'v1';
  const [{ Client }, { StreamableHTTPClientTransport }] = await Promise.all((v1 ? ['sdk/client/index.js', 'sdk/client/streamableHttp.js'] : ['client', 'client'])
    .map(module => import('@modelcontextprotocol/' + module)));
  const client = new Client({ name: 'matrix', version: sdk }, v1 ? {} : { versionNegotiation: { mode: era } });
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
  const got = { user, sdk, tools: (await client.listTools()).tools.map(t => t.name), resources: (await client.listResources()).resources.map(r => r.uri), called: {}, read: {} };
  for (const name of tools) {
    got.called[name] = [];
    for (const args of calls) got.called[name].push(await said(client.callTool({ name, arguments: args })));
  }
  for (const uri of uris) got.read[uri] = await said(client.readResource({ uri }));
  await client.close();
  all.push(got);
}
console.log(JSON.stringify(all));
