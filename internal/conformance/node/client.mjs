// A client built on one of the official SDKs. It does with a server what its argument says, a JSON object, and prints what it saw.
//   sdk      v1 (@modelcontextprotocol/sdk) or v2 (@modelcontextprotocol/client)
//   era      what v2 is to negotiate: legacy, auto or {"pin": REVISION}
//   command  the server, and its arguments; or instead of it
//   url      where it speaks HTTP+SSE, the transport of 2024-11-05
//   prefix   of the names of its tools, behind a gateway
//   files    the server is `stdwire serve` in a folder with hello.txt and a lot to search; else it is the fixture
const { sdk, era, command, url, prefix = '', files } = JSON.parse(process.argv[2]);

const [{ Client }, { StdioClientTransport }, { SSEClientTransport }] = await Promise.all((sdk === 'v1'
  ? ['sdk/client/index.js', 'sdk/client/stdio.js', 'sdk/client/sse.js']
  : ['client', 'client/stdio', 'client']).map(module => import('@modelcontextprotocol/' + module)));

let changed;
// a gateway may announce what it has found at its servers before the tool that the test adds
const change = new Promise((resolve, reject) => {
  changed = (error, tools) => {
    const names = tools?.map(t => t.name) ?? [];
    if (error) reject(error);
    else if (names.some(name => name.endsWith('grown_1'))) resolve(names);
  };
});
const client = new Client({ name: 'conformance', version: '1' }, {
  listChanged: { tools: { onChanged: changed } },
  ...(sdk === 'v1' ? {} : { versionNegotiation: { mode: era } }),
});
const call = (name, args, options) => {
  const params = { name: prefix + name, arguments: args };
  return sdk === 'v1' ? client.callTool(params, undefined, options) : client.callTool(params, options);
};
const failure = async promise => {
  try {
    return { result: await promise };
  } catch (error) {
    return { name: error.name, code: error.code, message: error.message };
  }
};

const seen = {};
await client.connect(url
  ? new SSEClientTransport(new URL(url))
  : new StdioClientTransport({ command: command[0], args: command.slice(1), stderr: 'inherit' }));
seen.server = client.getServerVersion();
seen.instructions = client.getInstructions();
seen.tools = (await client.listTools()).tools.map(t => t.name).sort();
seen.unknown = await failure(call('nothing', {}));

if (files) {
  seen.read = await call('fs_read', { path: 'hello.txt' });
  seen.missing = await call('fs_read', { path: 'missing.txt' });
  seen.invalid = await call('fs_read', { path: 5 });
} else {
  seen.add = await call('add', { a: 1, b: 2 });
  seen.failed = await call('fail', {});
  seen.panicked = await call('panic', {});
}

// A call that is cancelled once it has reported progress. (The SDKs drop progress that they read together with the answer, because they
// look at answers at once and at notifications in a microtask: what is reported right before the end is not there to be tested.)
const abort = new AbortController();
seen.progress = [];
seen.cancelled = await failure(call(files ? 'fs_search' : 'block', files ? { pattern: 'nowhere to be found', literal: true } : {}, {
  signal: abort.signal,
  onprogress: p => { seen.progress.push(p.progress); abort.abort('enough'); },
}));

if (!files) {
  let ended;
  do {
    ended = await call('ended', {});
  } while (JSON.parse(ended.content[0].text).data.n === 0);
  seen.ended = ended;
  await call('grow', {});
  seen.changed = await change;
}
seen.after = await call(files ? 'fs_read' : 'add', files ? { path: 'hello.txt' } : { a: 3, b: 4 });
const close = performance.now();
await client.close();
seen.closing = performance.now() - close;
console.log(JSON.stringify(seen));
