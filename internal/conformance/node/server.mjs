// A server built on one of the official SDKs, over Streamable HTTP: that of Visit, in visit.go. It prints its URL, and ends with its input. Its argument is
//   v1       @modelcontextprotocol/sdk: sessions, and streams that can be resumed
//   v2       @modelcontextprotocol/server: the same for legacy clients, and modern ones at the same URL
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { z } from 'zod';

const v1 = process.argv[2] === 'v1';
const [{ McpServer, ResourceTemplate }, { completable }, { StreamableHTTPServerTransport: Transport }, sdk, { toNodeHandler, toWebRequest }] = v1
  ? await Promise.all([import('@modelcontextprotocol/sdk/server/mcp.js'), import('@modelcontextprotocol/sdk/server/completable.js'),
    import('@modelcontextprotocol/sdk/server/streamableHttp.js'), import('@modelcontextprotocol/sdk/types.js'), {}])
  : await Promise.all([import('@modelcontextprotocol/server'), import('@modelcontextprotocol/server'),
    import('@modelcontextprotocol/node').then(m => ({ StreamableHTTPServerTransport: m.NodeStreamableHTTPServerTransport })),
    import('@modelcontextprotocol/server'), import('@modelcontextprotocol/node')]);

const text = text => ({ content: [{ type: 'text', text }] });
const form = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] };
const question = { messages: [{ role: 'user', content: { type: 'text', text: 'Capital?' } }], maxTokens: 10 };

const sessions = new Map(); // of legacy clients
let modern; // what serves the others
let grown = 0, cancelled = 0;
let held = [];

// What an answer to the client's questions is made of; in v2 the client may be modern, and is then asked by the result.
async function asked(context, method, params, say) {
  if (v1) {
    const schema = { 'elicitation/create': sdk.ElicitResultSchema, 'sampling/createMessage': sdk.CreateMessageResultSchema, 'roots/list': sdk.ListRootsResultSchema };
    return text(say(await context.sendRequest({ method, params }, schema[method])));
  }
  const answer = context.mcpReq.inputResponses?.it;
  if (answer) return text(say(answer));
  const { inputRequired } = sdk;
  const ask = { 'elicitation/create': inputRequired.elicit, 'sampling/createMessage': inputRequired.createMessage, 'roots/list': inputRequired.listRoots };
  return inputRequired({ inputRequests: { it: ask[method](params) } });
}

function newServer() {
  const server = new McpServer({ name: 'visited', version: '1' }, {
    capabilities: { logging: {}, resources: { subscribe: true, listChanged: true } }, instructions: 'Visit.',
  });
  const tool = (name, inputSchema, handler) => server.registerTool(name, { description: name, ...(inputSchema && { inputSchema: z.object(inputSchema) }) },
    inputSchema ? handler : context => handler({}, context));
  const progress = async (context, progress, total) => {
    const { _meta } = v1 ? context : context.mcpReq;
    const n = { method: 'notifications/progress', params: { progressToken: _meta?.progressToken, progress, total } };
    if (_meta?.progressToken !== undefined) await (v1 ? context.sendNotification(n) : context.mcpReq.notify(n));
  };

  tool('echo', { text: z.string() }, args => text(args.text));
  tool('fail', null, () => ({ ...text('it failed'), isError: true }));
  tool('count', { n: z.number() }, async ({ n }, context) => {
    for (let i = 1; i <= n; i++) await progress(context, i, n);
    return text('counted');
  });
  tool('log', null, async (_, context) => {
    for (const [level, data] of [['debug', 'unwanted'], ['warning', 'logged']]) {
      await (v1 ? server.sendLoggingMessage({ level, data }, context.sessionId) : context.mcpReq.log(level, data));
    }
    return text('done');
  });
  tool('ask', null, (_, context) => asked(context, 'elicitation/create', { message: 'Who?', requestedSchema: form },
    a => a.action === 'accept' ? `Hello, ${a.content.name}` : a.action));
  tool('sample', null, (_, context) => asked(context, 'sampling/createMessage', question, a => a.content.text));
  tool('roots', null, (_, context) => asked(context, 'roots/list', undefined, a => `${a.roots.length} roots`));
  tool('hold', null, async (_, context) => {
    const { signal } = v1 ? context : context.mcpReq;
    const released = new Promise(resolve => held.push(resolve));
    const given = new Promise((_, reject) => signal.addEventListener('abort', () => { cancelled++; reject(new Error('cancelled')); }));
    await progress(context, 1);
    await Promise.race([released, given]);
    return text('held');
  });
  tool('release', null, () => { held.forEach(release => release()); held = []; return text('done'); });
  tool('cancelled', null, () => text(String(cancelled)));
  tool('grow', null, () => {
    grown++;
    for (const s of sessions.values()) s.grow();
    modern?.notify.toolsChanged();
    return text('done');
  });
  tool('touch', null, async () => {
    for (const s of sessions.values()) await s.touch();
    modern?.notify.resourceUpdated('visit://text');
    return text('done');
  });
  // The server closes the stream of the call that it is answering; the client comes back for the answer.
  tool('cut', null, async (_, context) => {
    (v1 ? context.closeSSEStream : context.http.closeSSE)();
    return text('resumed');
  });
  tool('forget', null, (_, context) => {
    const session = sessions.get(context.sessionId);
    sessions.delete(context.sessionId);
    setTimeout(() => session.transport.close(), 20); // the answer gets out before that
    return text('done');
  });

  const subscribed = new Set();
  const handle = (method, schema, handler) => server.server.setRequestHandler(v1 ? sdk[schema] : method, handler);
  handle('resources/subscribe', 'SubscribeRequestSchema', r => { subscribed.add(r.params.uri); return {}; });
  handle('resources/unsubscribe', 'UnsubscribeRequestSchema', r => { subscribed.delete(r.params.uri); return {}; });
  server.registerResource('text', 'visit://text', { mimeType: 'text/plain' },
    uri => ({ contents: [{ uri: uri.href, mimeType: 'text/plain', text: 'some text' }] }));
  server.registerResource('binary', 'visit://binary', { mimeType: 'application/octet-stream' },
    uri => ({ contents: [{ uri: uri.href, mimeType: 'application/octet-stream', blob: Buffer.from([0, 127, 255]).toString('base64') }] }));
  server.registerResource('item', new ResourceTemplate('visit://item/{id}', { list: undefined }), {},
    (uri, { id }) => ({ contents: [{ uri: uri.href, text: `item ${id}` }] }));
  const names = value => ['Ada', 'Alan', 'Grace'].filter(name => name.startsWith(value));
  const args = { name: completable(z.string(), names) };
  server.registerPrompt('greet', { argsSchema: v1 ? args : z.object(args) },
    ({ name }) => ({ messages: [{ role: 'user', content: { type: 'text', text: `Greet ${name}.` } }] }));

  const add = i => tool(`grown_${i}`, null, () => text('grown'));
  for (let i = 1; i <= grown; i++) add(i);
  return {
    server,
    grow: () => add(grown),
    touch: async () => { if (subscribed.has('visit://text')) await server.server.sendResourceUpdated({ uri: 'visit://text' }); },
  };
}

// The events of a session, so that a client can come back for those that it has missed.
class Events {
  all = [];
  async storeEvent(stream, message) {
    const id = `${this.all.length}`;
    this.all.push({ id, stream, message });
    return id;
  }
  async getStreamIdForEventId(id) { return this.all[id]?.stream; }
  async replayEventsAfter(last, { send }) {
    const { stream } = this.all[last];
    for (const e of this.all.slice(Number(last) + 1)) {
      if (e.stream === stream && Object.keys(e.message).length > 0) await send(e.id, e.message);
    }
    return stream;
  }
}

async function legacy(request, response, body) {
  const id = request.headers['mcp-session-id'];
  let session = sessions.get(id);
  if (id && !session) return response.writeHead(404).end();
  if (!session) {
    if (body?.method !== 'initialize') {
      const error = { code: -32000, message: 'Bad Request: no session' };
      return response.writeHead(400, { 'Content-Type': 'application/json' }).end(JSON.stringify({ jsonrpc: '2.0', error, id: null }));
    }
    session = newServer();
    session.transport = new Transport({
      sessionIdGenerator: randomUUID, eventStore: new Events(), retryInterval: 20,
      onsessioninitialized: id => sessions.set(id, session), onsessionclosed: id => sessions.delete(id),
    });
    await session.server.connect(session.transport);
  }
  await session.transport.handleRequest(request, response, body);
}

if (!v1) modern = sdk.createMcpHandler(() => newServer().server, { legacy: 'reject' });
const modernNode = v1 ? undefined : toNodeHandler(modern);

async function serve(request, response) {
  let body;
  if (request.method === 'POST') {
    let raw = '';
    for await (const chunk of request) raw += chunk;
    body = JSON.parse(raw);
  }
  const isModern = !v1 && !await sdk.isLegacyRequest(await toWebRequest(request, body), body);
  await (isModern ? modernNode(request, response, body) : legacy(request, response, body));
}

// A request that fails is one that the client has given up, or it finds out.
const http = createServer((request, response) => serve(request, response).catch(() => response.destroy()));
http.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${http.address().port}/mcp`));
process.stdin.resume().on('end', () => process.exit());
