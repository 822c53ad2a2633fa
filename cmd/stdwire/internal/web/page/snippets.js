// A call as a command line, in Go, in TypeScript and for curl.
import { parse } from './json.js';

const quote = word => /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;

const goString = text => text.includes('`') ? JSON.stringify(text) : '`' + text + '`';

const indent = (text, by) => text.split('\n').join('\n' + by);

// connection returns how Go and TypeScript connect to a server.
function connection(server) {
	return server.url
		? { go: `client.Connect(ctx, streamable.Dial(${JSON.stringify(server.url)}))`,
			ts: `new StreamableHTTPClientTransport(new URL(${JSON.stringify(server.url)}))` }
		: { go: 'client.Spawn(ctx, "SERVER-COMMAND")', ts: "new StdioClientTransport({ command: 'SERVER-COMMAND', args: [] })" };
}

// snippets returns [language, text] for a call of a tool. args is JSON.
export function snippets(server, tool, args) {
	let compact = args;
	try {
		compact = JSON.stringify(parse(args));
	} catch { /* it is shown as it is */ }
	const selector = server.selector.startsWith('-- ') ? ['', ' ' + server.selector] : [' ' + server.selector, ''];
	const command = server.selector.startsWith('@') ? `stdwire call ${server.selector} ${quote(tool)} -d ${quote(compact)}`
		: `stdwire call ${quote(tool)} -d ${quote(compact)}${selector[0]}${selector[1]}`;
	const { go, ts } = connection(server);
	const modern = server.details?.era === 'modern';
	const request = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: tool, arguments: '@', ...modern && { _meta: {
		'io.modelcontextprotocol/protocolVersion': server.details.revision, 'io.modelcontextprotocol/clientInfo': { name: 'curl', version: '1' },
		'io.modelcontextprotocol/clientCapabilities': {} } } } }).replace('"@"', () => compact);
	const headers = [...modern ? ['Mcp-Method: tools/call', `Mcp-Name: ${tool}`] : ['Mcp-Session-Id: SESSION'],
		...server.details ? [`MCP-Protocol-Version: ${server.details.revision}`] : []];
	const curl = server.url
		? `curl -sN ${quote(server.url)} -H 'Content-Type: application/json' \\\n  -H 'Accept: application/json, text/event-stream' \\\n  ${
			headers.map(header => `-H ${quote(header)}`).join(' ')} \\\n  -d ${quote(request)}`
		: `printf '%s\\n' ${quote(request)}   # a server on stdio reads this line, after the handshake`;
	return [
		['stdwire', command],
		['curl', curl],
		['Go', `c, err := ${go}\nif err != nil {\n\treturn err\n}\ndefer c.Close()\nresult, err := c.CallTool(ctx, ${JSON.stringify(tool)}, json.RawMessage(${goString(compact)}))`],
		['TypeScript', `const client = new Client({ name: 'example', version: '1.0.0' });\nawait client.connect(${ts});\nconst result = await client.callTool({ name: ${JSON.stringify(tool)}, arguments: ${indent(compact, '  ')} });`],
	];
}
