// What the error codes of JSON-RPC and MCP mean, what their data say, and what to do.

const text = value => typeof value === 'string' ? value : JSON.stringify(value);
const list = value => Array.isArray(value) ? value.map(text).join(', ') : undefined;
const uri = data => [['resource', data.uri]];

const codes = {
  '-32700': { name: 'Parse error', advice: 'The other side could not parse the message: look at it on the timeline as it was sent, and at its framing.' },
  '-32600': { name: 'Invalid Request', advice: 'The message is no request of JSON-RPC, or came out of turn: look at it on the timeline.' },
  '-32601': { name: 'Method not found', advice: 'The server does not have the method: see what capabilities it declares.' },
  '-32602': { name: 'Invalid params', advice: 'Compare the params with what the server lists; it may have changed since.', data: uri },
  '-32603': { name: 'Internal error', advice: 'The fault is in the server: look at its log.' },
  '-32002': { name: 'Resource not found', advice: 'List the resources again.', data: uri },
  '-32020': { name: 'Header mismatch', advice: 'An HTTP header is missing, malformed or differs from the body. If the tool has parameters that are headers too, list the tools again; otherwise look at the headers on the timeline, and for a proxy that changes them.' },
  '-32021': { name: 'Missing client capability', advice: 'The client has not declared what the request needs: see the extensions on the page Servers, and whether the tool can do without.',
    data: data => [['needed', data.requiredCapabilities && Object.entries(data.requiredCapabilities).map(([key, value]) =>
      key === 'extensions' || key === 'experimental' ? Object.keys(value ?? {}).map(one => `${key} ${one}`).join(', ') : key).join(', ')]] },
  '-32022': { name: 'Unsupported protocol version', advice: 'Client and server have to agree on a revision: choose the era with --era.',
    data: data => [['supported', list(data.supported)], ['requested', data.requested]] },
  '-32042': { name: 'URL elicitation required', advice: 'Visit the page if you trust the server, and call again.',
    data: data => [['pages', Array.isArray(data.elicitations) ? list(data.elicitations.map(one => one?.url)) : undefined]] },
  '-32800': { name: 'Request cancelled' },
};

// explain returns what an error code means, { name, advice, facts }. facts are names and texts from
// the data; there are none if the data are not those of the code.
export function explain(code, data) {
  const known = codes[code] ?? (code <= -32000 && code >= -32099 ? { name: 'Error of the server', advice: 'The server gives the code its meaning: see its documentation.' } : {});
  let facts = [];
  try {
    facts = (data && known.data?.(data) || []).filter(([, value]) => value !== undefined && value !== null && value !== '').map(([name, value]) => [name, text(value)]);
  } catch { /* the data are not what the specification says */ }
  return { name: known.name ?? 'Error', advice: known.advice, facts };
}
