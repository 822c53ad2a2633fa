// A client built on one of the official SDKs. It calls a gateway of several replicas, whatever fails, until its standard input ends. It writes the
// line "connected" when it has subscribed, "changed" and "updated" when it hears of a change of the tools and of the resource, and at last what it saw. Its argument is a JSON object:
//   sdk    v1 (@modelcontextprotocol/sdk) or v2 (@modelcontextprotocol/client)
//   era    what v2 is to negotiate: legacy, auto or {"pin": REVISION}
//   modern whether that is the modern era
//   url    the endpoint
//   name   begins the tokens of its calls
const { sdk, era, modern, url, name } = JSON.parse(process.argv[2]);

const v1 = sdk === 'v1';
const [{ Client }, { StreamableHTTPClientTransport }] = await Promise.all((v1
  ? ['sdk/client/index.js', 'sdk/client/streamableHttp.js']
  : ['client', 'client']).map(module => import('@modelcontextprotocol/' + module)));
const schemas = v1 ? await import('@modelcontextprotocol/sdk/types.js') : {};

// counted and asked are the tokens of calls that have succeeded.
const seen = { statuses: {}, counted: [], asked: [], questions: 0, wrong: [], failed: {}, sessions: 1 };
const count = (of, what) => { of[what] = (of[what] ?? 0) + 1; };
const traced = async (input, init = {}) => {
  const response = await fetch(input, init);
  count(seen.statuses, `${init.method ?? 'GET'} ${response.status}`);
  return response;
};

let ended = false;
process.stdin.on('end', () => { ended = true; }).resume();

const client = new Client({ name: 'replicas', version: '1' }, {
  capabilities: { elicitation: {} },
  ...(v1 ? {} : { versionNegotiation: { mode: era } }),
});
client.onerror = () => {};
client.setRequestHandler(v1 ? schemas.ElicitRequestSchema : 'elicitation/create', request => {
  seen.questions++;
  return { action: 'accept', content: { name: request.params.message } };
});
client.setNotificationHandler(v1 ? schemas.ToolListChangedNotificationSchema : 'notifications/tools/list_changed', () => { console.log('changed'); });
client.setNotificationHandler(v1 ? schemas.ResourceUpdatedNotificationSchema : 'notifications/resources/updated', () => { console.log('updated'); });
const pause = ms => new Promise(resolve => setTimeout(resolve, ms));
const call = async (tool, token) => {
  const params = { name: 'up__' + tool, arguments: { token } }, options = { timeout: 10_000 };
  const result = await (v1 ? client.callTool(params, undefined, options) : client.callTool(params, options));
  if (result.isError) throw new Error(result.content[0].text);
  return result.content[0].text;
};

await client.connect(new StreamableHTTPClientTransport(new URL(url), {
  fetch: traced, reconnectionOptions: { initialReconnectionDelay: 50, maxReconnectionDelay: 500, reconnectionDelayGrowFactor: 1.5, maxRetries: 100 },
}));
const resource = 'counter:///changes';
if (!modern) {
  await client.subscribeResource({ uri: resource });
  console.log('connected');
} else {
  (async () => { // a subscription ends with its replica
    for (;; await pause(100)) {
      try {
        const subscription = await client.listen({ toolsListChanged: true, resourceSubscriptions: [resource] });
        console.log('connected');
        await subscription.closed;
      } catch {} // nobody may be there to answer
    }
  })();
}
for (let n = 0; !ended; n++) {
  const token = `${name}-${n}`, tool = n % 3 === 2 ? 'ask' : 'count';
  try {
    const text = await call(tool, token);
    if (text !== `${tool} ${token}`) seen.wrong.push(text);
    (tool === 'ask' ? seen.asked : seen.counted).push(token);
    await pause(30);
  } catch (error) {
    count(seen.failed, String(error.message).replace(/\d+/g, 'N').slice(0, 120));
    await pause(200);
  }
}
console.log(JSON.stringify(seen));
process.exit(0);
