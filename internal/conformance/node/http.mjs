// A client built on one of the official SDKs. It does with the everything-server, over Streamable HTTP or stdio, all that the SDK can, and prints
// what it saw. Its argument is a JSON object:
//   sdk      v1 (@modelcontextprotocol/sdk) or v2 (@modelcontextprotocol/client)
//   era      what v2 is to negotiate: legacy, auto or {"pin": REVISION}
//   modern   whether it has to come out as modern
//   url      the endpoint; a POST to /cut there cuts all streams that are open
//   token    what lets it in there
//   command  instead of a url: the server, and its arguments
//   prefix   of the names of tools and prompts, behind a gateway
const { sdk, era, modern, url, token, command, prefix = '' } = JSON.parse(process.argv[2]);

const v1 = sdk === 'v1';
const [{ Client }, { StreamableHTTPClientTransport }, { StdioClientTransport }] = await Promise.all((v1
  ? ['sdk/client/index.js', 'sdk/client/streamableHttp.js', 'sdk/client/stdio.js']
  : ['client', 'client', 'client/stdio']).map(module => import('@modelcontextprotocol/' + module)));
const schemas = v1 ? await import('@modelcontextprotocol/sdk/types.js') : {};

const seen = { requests: [], notified: [], asked: [], errors: [] };
const traced = async (input, init = {}) => {
  const response = await fetch(input, init);
  const resumes = new Headers(init.headers).get('last-event-id') ? ' resumes' : '';
  seen.requests.push(`${init.method ?? 'GET'}${resumes} ${response.status} ${response.headers.get('content-type') ?? ''}`.trim());
  return response;
};
const cut = () => fetch(new URL('/cut', url), { method: 'POST' });

// What is waited for, by name.
const waiting = new Map();
const happens = what => new Promise(resolve => waiting.set(what, resolve));
const happened = (what, value) => {
  seen.notified.push(what);
  waiting.get(what)?.(value);
};

const client = new Client({ name: 'conformance', version: '1' }, {
  capabilities: { elicitation: {}, sampling: {}, roots: { listChanged: true } },
  listChanged: {
    tools: { debounceMs: 0, onChanged: (error, tools) => happened('tools', error ?? tools.map(t => t.name)) },
    prompts: { debounceMs: 0, onChanged: (error, prompts) => happened('prompts', error ?? prompts.map(p => p.name)) },
  },
  ...(v1 ? {} : { versionNegotiation: { mode: era } }),
});
client.onerror = error => seen.errors.push(error.message);
const handle = (method, name, handler) => client.setRequestHandler(v1 ? schemas[name] : method, handler);
const notice = (method, name, handler) => client.setNotificationHandler(v1 ? schemas[name] : method, handler);

const said = { name: 'Ada', username: 'ada', email: 'ada@example.com', ok: true, color: 'red', context: 'tests' };
let answer = async () => ({ action: 'accept', content: said });
handle('elicitation/create', 'ElicitRequestSchema', (request, extra) => {
  seen.asked.push(request.params.message);
  return answer(extra);
});
handle('sampling/createMessage', 'CreateMessageRequestSchema', request => {
  seen.asked.push(request.params.messages[0].content.text);
  return { role: 'assistant', model: 'none', content: { type: 'text', text: 'Paris' } };
});
handle('roots/list', 'ListRootsRequestSchema', () => ({ roots: [{ uri: 'file:///a', name: 'a' }, { uri: 'file:///b' }] }));
notice('notifications/message', 'LoggingMessageNotificationSchema', n => happened('log', n.params.data));
notice('notifications/resources/updated', 'ResourceUpdatedNotificationSchema', n => happened('updated', n.params.uri));

const call = async (name, args = {}, options, meta) => {
  const params = { name: prefix + name, arguments: args, ...(meta && { _meta: meta }) };
  const result = await (v1 ? client.callTool(params, undefined, options) : client.callTool(params, options));
  return result.content.map(c => c.text ?? c.mimeType ?? c.resource.text).join('|') + (result.isError ? ' (error)' : '');
};
const failure = async promise => {
  try {
    return { result: await promise };
  } catch (error) {
    return { name: error.name, code: error.code, message: error.message };
  }
};

const transport = command ? new StdioClientTransport({ command: command[0], args: command.slice(1), stderr: 'inherit' }) : new StreamableHTTPClientTransport(new URL(url), {
  fetch: traced, ...(token && { requestInit: { headers: { authorization: 'Bearer ' + token } } }),
  reconnectionOptions: { initialReconnectionDelay: 20, maxReconnectionDelay: 200, reconnectionDelayGrowFactor: 2, maxRetries: 10 },
});
await client.connect(transport);
seen.server = client.getServerVersion();
seen.session = transport.sessionId;
seen.tools = (await client.listTools()).tools.map(t => t.name).sort();

// Tools, and what they say meanwhile.
seen.calls = {};
for (const what of ['simple_text', 'image_content', 'audio_content', 'embedded_resource', 'multiple_content_types', 'error_handling']) {
  seen.calls['test_' + what] = await call('test_' + what);
}
seen.calls.test_x_mcp_header = await call('test_x_mcp_header', { region: 'Zürich ', level: 1 });
seen.unknown = await failure(call('nothing'));
seen.progress = [];
seen.calls.test_tool_with_progress = await call('test_tool_with_progress', {}, { onprogress: p => seen.progress.push(p.progress) });
if (!modern) {
  await client.setLoggingLevel('info');
  await client.ping();
}
const logged = happens('log');
seen.calls.test_logging_tool = await call('test_logging_tool', {}, undefined, modern ? { 'io.modelcontextprotocol/logLevel': 'info' } : undefined);
await logged;

// What the server asks while it is called: by itself in the legacy era, and by what the call returns in the modern one.
seen.calls.test_elicitation = await call('test_elicitation', { message: 'Who?' });
seen.calls.test_sampling = await call('test_sampling', { prompt: 'Capital?' });
for (const about of ['list_roots', 'multiple_inputs', 'multi_round', 'request_state']) {
  seen.calls[about] = await call('test_input_required_result_' + about);
}
seen.prompted = (await client.getPrompt({ name: prefix + 'test_input_required_result_prompt' })).messages[0].content.text;

// Resources, prompts, completion.
seen.resources = (await client.listResources()).resources.map(r => r.uri).sort();
seen.templates = (await client.listResourceTemplates()).resourceTemplates.map(r => r.uriTemplate);
const read = async uri => (await client.readResource({ uri })).contents[0];
seen.text = (await read('test://static-text')).text;
seen.binary = Buffer.from((await read('test://static-binary')).blob, 'base64').subarray(1, 4).toString();
seen.templated = JSON.parse((await read('test://template/a%20b/data')).text).id;
seen.missing = await failure(read('test://nothing'));
seen.prompts = (await client.listPrompts()).prompts.map(p => p.name).sort();
seen.prompt = (await client.getPrompt({ name: prefix + 'test_prompt_with_arguments', arguments: { arg1: 'x', arg2: 'y' } })).messages[0].content.text;
seen.completion = (await client.complete({
  ref: { type: 'ref/prompt', name: prefix + 'test_prompt_with_arguments' }, argument: { name: 'arg1', value: 'test' },
})).completion.values;

// Changes.
const watched = 'test://watched-resource';
const subscription = modern ? await client.listen({ resourceSubscriptions: [watched] }) : await client.subscribeResource({ uri: watched });
const updated = happens('updated');
await call('test_trigger_resource_update');
seen.updated = await updated;
await (modern ? subscription.close() : client.unsubscribeResource({ uri: watched }));
const toolsChanged = happens('tools'), promptsChanged = happens('prompts');
await call('test_trigger_tool_change');
await call('test_trigger_prompt_change');
seen.changed = [(await toolsChanged).includes(prefix + 'transient_tool'), (await promptsChanged).includes(prefix + 'transient_prompt')];

// A call that is cancelled while it is under way. In the legacy era, what the server asked for it is cancelled, too.
const abort = new AbortController();
seen.cancelled = await failure(call('test_tool_with_progress', {}, { signal: abort.signal, onprogress: () => abort.abort('enough') }));
if (!modern) {
  const abort = new AbortController(), usual = answer;
  const withdrawn = new Promise(resolve => {
    answer = extra => {
      (extra.signal ?? extra.mcpReq.signal).addEventListener('abort', resolve);
      abort.abort('enough');
      return new Promise(() => {});
    };
  });
  seen.cancelledQuestion = await failure(call('test_elicitation', { message: 'Still there?' }, { signal: abort.signal }));
  await withdrawn;
  answer = usual;
}

// Streams that end before their time. The call goes on, and its client comes back for the result.
seen.calls.test_reconnection = await call('test_reconnection');
if (!modern) {
  const usual = answer;
  answer = async extra => { if (url) await cut(); return usual(extra); };
  seen.calls.cut = await call('test_elicitation', { message: 'After a cut?' });
  answer = usual;
  // The session's own stream was cut with it: it has to be back for this to come through.
  await client.subscribeResource({ uri: watched });
  const updated = happens('updated');
  await call('test_trigger_resource_update');
  await updated;
}

if (seen.session) {
  const headers = { 'mcp-session-id': seen.session, accept: 'application/json, text/event-stream', 'content-type': 'application/json', ...(token && { authorization: 'Bearer ' + token }) };
  await transport.terminateSession();
  const after = await fetch(url, { method: 'POST', headers, body: '{"jsonrpc":"2.0","id":"late","method":"ping"}' });
  seen.afterDelete = after.status;
}
await client.close();
console.log(JSON.stringify(seen));
