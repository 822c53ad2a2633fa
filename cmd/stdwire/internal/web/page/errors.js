// The error codes of JSON-RPC and MCP: names, members of data, and advice.

const text = value => typeof value === 'string' ? value : JSON.stringify(value);
const list = value => Array.isArray(value) ? value.map(text).join(', ') : undefined;
const uri = data => [['resource', data.uri]];

const codes = {
	'-32700': { name: 'Parse error', advice: 'The receiver could not parse the message: check its bytes on the timeline.' },
	'-32600': { name: 'Invalid Request', advice: 'The message is no JSON-RPC request, or not allowed now: check it on the timeline.' },
	'-32601': { name: 'Method not found', advice: 'The server does not have the method: check the capabilities that it declares.' },
	'-32602': { name: 'Invalid params', advice: 'Compare the params with the definition that the server lists now; it may have changed.', data: uri },
	'-32603': { name: 'Internal error', advice: 'The server failed: read its log.' },
	'-32002': { name: 'Resource not found', advice: 'List the resources again.', data: uri },
	'-32020': { name: 'Header mismatch', advice: 'An HTTP header is missing, malformed or differs from the body. List the tools again if they send parameters as headers.' },
	'-32021': { name: 'Missing client capability', advice: 'The request needs a capability that the client has not declared: check the extensions among the servers.',
		data: data => [['needed', data.requiredCapabilities && Object.entries(data.requiredCapabilities).map(([key, value]) =>
			key === 'extensions' || key === 'experimental' ? Object.keys(value ?? {}).map(name => `${key} ${name}`).join(', ') : key).join(', ')]] },
	'-32022': { name: 'Unsupported protocol version', advice: 'Client and server share no revision: choose another era with --era.',
		data: data => [['supported', list(data.supported)], ['requested', data.requested]] },
	'-32042': { name: 'URL elicitation required', advice: 'If you trust the server, visit the page and repeat the call.',
		data: data => [['pages', Array.isArray(data.elicitations) ? list(data.elicitations.map(elicitation => elicitation?.url)) : undefined]] },
	'-32800': { name: 'Request cancelled' },
};

// explain returns { name, advice, facts } for an error code. facts are names and texts from the data;
// there are none if the data have another form than the code requires.
export function explain(code, data) {
	const known = codes[code] ?? (code <= -32000 && code >= -32099 ? { name: 'Server error', advice: 'The server defines the meaning of this code: see its documentation.' } : {});
	let facts = [];
	try {
		facts = (data && known.data?.(data) || []).filter(([, value]) => value !== undefined && value !== null && value !== '').map(([name, value]) => [name, text(value)]);
	} catch { /* the data are not what the specification says */ }
	return { name: known.name ?? 'Error', advice: known.advice, facts };
}
