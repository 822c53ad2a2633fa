// The error codes of JSON-RPC and MCP: names, members of data, and advice.

const text = value => typeof value === 'string' ? value : JSON.stringify(value);
const list = value => Array.isArray(value) ? value.map(text).join(', ') : undefined;
const uri = data => [['resource', data.uri]];

// the name, advice, and members of data
const codes = {
	'-32700': ['Parse error', 'The receiver could not parse the message: check its bytes on the timeline.'],
	'-32600': ['Invalid Request', 'The message is no JSON-RPC request, or not allowed now: check it on the timeline.'],
	'-32601': ['Method not found', 'The server does not have the method: check the capabilities that it declares.'],
	'-32602': ['Invalid params', 'Compare the params with the definition that the server lists now; it may have changed.', uri],
	'-32603': ['Internal error', 'The server failed: read its log.'],
	'-32002': ['Resource not found', 'List the resources again.', uri],
	'-32020': ['Header mismatch', 'An HTTP header is missing, malformed or differs from the body. List the tools again if they send parameters as headers.'],
	'-32021': ['Missing client capability', 'The request needs a capability that the client has not declared: check the extensions among the servers.',
		data => [['needed', data.requiredCapabilities && Object.entries(data.requiredCapabilities).map(([key, value]) =>
			key === 'extensions' || key === 'experimental' ? Object.keys(value ?? {}).map(name => `${key} ${name}`).join(', ') : key).join(', ')]]],
	'-32022': ['Unsupported protocol version', 'Client and server share no revision: choose another era with --era.',
		data => [['supported', list(data.supported)], ['requested', data.requested]]],
	'-32042': ['URL elicitation required', 'If you trust the server, visit the page and repeat the call.',
		data => [['pages', Array.isArray(data.elicitations) ? list(data.elicitations.map(elicitation => elicitation?.url)) : undefined]]],
	'-32800': ['Request cancelled'],
};

// explain returns { name, advice, facts } for an error code. facts are names and texts from the data;
// there are none if the data have another form than the code requires.
export function explain(code, data) {
	const [name = 'Error', advice, members = () => []] = codes[code] ?? (code <= -32000 && code >= -32099 ? ['Server error', 'The server defines the meaning of this code: see its documentation.'] : []);
	let facts = [];
	try {
		facts = (data ? members(data) : []).filter(([, value]) => (value ?? '') !== '').map(([term, value]) => [term, text(value)]);
	} catch { /* the data are not what the specification says */ }
	return { name, advice, facts };
}
