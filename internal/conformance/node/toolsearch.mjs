// A client built on one of the official SDKs finds and calls tools that are not listed. Its argument is a JSON object:
//   sdk      v1 (@modelcontextprotocol/sdk) or v2 (@modelcontextprotocol/client)
//   era      what v2 is to negotiate: legacy, auto or {"pin": REVISION}
//   command  a gateway, and its arguments; it has the server "files", which is `stdwire serve --root root`
const { sdk, era, command } = JSON.parse(process.argv[2]);
const [{ Client }, { StdioClientTransport }] = await Promise.all((sdk === 'v1'
  ? ['sdk/client/index.js', 'sdk/client/stdio.js']
  : ['client', 'client/stdio']).map(module => import('@modelcontextprotocol/' + module)));
const client = new Client({ name: 'conformance', version: '1' }, sdk === 'v1' ? {} : { versionNegotiation: { mode: era } });
await client.connect(new StdioClientTransport({ command: command[0], args: command.slice(1), stderr: 'inherit' }));
const call = (name, args) => client.callTool({ name, arguments: args });

const seen = {};
// listed, so that the SDK knows which of the tools have an output schema
seen.tools = (await client.listTools()).tools.map(t => t.name).sort();
if (seen.tools.includes('find_tool')) {
  seen.found = (await call('find_tool', { query: 'read a file', server: 'files' })).structuredContent.tools;
  const [best] = seen.found;
  seen.read = await call(best.call, { name: best.name, arguments: { path: 'hello.txt' } });
  seen.failed = await call(best.call, { name: best.name, arguments: { path: 'missing.txt' } });
  seen.refused = await call('call_tool_read', { name: 'files__fs_write', arguments: { path: 'x', content: 'y' } });
}
seen.direct = await call('files__fs_read', { path: 'hello.txt' });
await client.close();
console.log(JSON.stringify(seen));
