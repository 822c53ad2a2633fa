// A client built on one of the official SDKs, which gets its tokens of the authorization server of issuer.mjs, for whose user it is the browser, too. It prints what it saw. Its argument is
// a JSON object:
//   sdk, era   as for http.mjs
//   url        the endpoint
//   issuer     of the tokens
//   dpop       whether tokens are to be bound to a key
//   document   the address of the document about the client, if it is not to be registered
//   calls      what is called all the time, and what needs more rights, if anything does: [name, arguments] each
//   machine    the secret of the client that is called so, if the server verifies tokens without asking about them
const { sdk, era, url, issuer, dpop, document, calls, machine } = JSON.parse(process.argv[2]);

const v1 = sdk === 'v1';
const [{ Client }, { StreamableHTTPClientTransport }, { UnauthorizedError, auth }] = await Promise.all((v1
  ? ['sdk/client/index.js', 'sdk/client/streamableHttp.js', 'sdk/client/auth.js']
  : ['client', 'client', 'client']).map(module => import('@modelcontextprotocol/' + module)));
const keys = dpop ? await (await import('@modelcontextprotocol/client')).DpopSession.create() : undefined;

const admin = async what => (await fetch(issuer + '/admin', { method: 'POST', body: JSON.stringify(what) })).json();
const seconds = n => new Promise(resolve => setTimeout(resolve, n * 1000));
const redirectUrl = 'http://127.0.0.1:9/callback';

// The browser: what it was redirected to in the end, at the client's address.
const cookies = new Map();
const browse = async page => {
  while (!String(page).startsWith(redirectUrl)) {
    const response = await fetch(page, { redirect: 'manual', headers: { cookie: [...cookies].map(c => c.join('=')).join('; ') } });
    for (const cookie of response.headers.getSetCookie()) {
      const [, name, value] = cookie.match(/^([^=]+)=([^;]*)/);
      if (value) cookies.set(name, value); else cookies.delete(name);
    }
    if (!response.headers.get('location')) throw new Error(`${response.status} of ${page}: ${await response.text()}`);
    page = new URL(response.headers.get('location'), page);
  }
  return page.searchParams;
};

// What the application keeps.
let information, tokens, verifier, state, back, discovery;
let logins = 0;
const authProvider = {
  redirectUrl,
  clientMetadata: {
    client_name: 'conformance', redirect_uris: [redirectUrl], grant_types: ['authorization_code', 'refresh_token'], response_types: ['code'], token_endpoint_auth_method: 'none',
    ...(!v1 && { application_type: 'native' }),
  },
  clientMetadataUrl: document,
  clientInformation: () => information,
  saveClientInformation: made => { information = made; },
  tokens: () => tokens,
  saveTokens: got => { tokens = got; },
  codeVerifier: () => verifier,
  saveCodeVerifier: made => { verifier = made; },
  state: () => state = crypto.randomUUID(),
  saveDiscoveryState: found => { discovery = found; },
  discoveryState: () => discovery,
  invalidateCredentials: what => {
    if (what === 'all' || what === 'client') information = undefined;
    if (what === 'all' || what === 'tokens') tokens = undefined;
  },
  redirectToAuthorization: async page => {
    logins++;
    back = await browse(page);
    if (back.get('state') !== state) throw new Error('the answer is not to what was asked');
  },
  ...(keys && { dpop: () => keys }),
};

// Does something as an application does that has a user: if it has no token, she logs in, and it is done again.
let transport, client;
const done = async what => {
  try {
    return await what();
  } catch (error) {
    if (!(error instanceof UnauthorizedError)) throw error;
    await transport.finishAuth(v1 ? back.get('code') : back);
    return await what();
  }
};
const call = async ([name, args]) => {
  const result = await done(() => client.callTool({ name, arguments: args }));
  return result.content.map(c => c.text).join('|') + (result.isError ? ' (error)' : '');
};

const seen = { said: [] };
const [usual, more] = calls;
await done(async () => {
  client = new Client({ name: 'conformance', version: '1' }, v1 ? {} : { versionNegotiation: { mode: era } });
  transport = new StreamableHTTPClientTransport(new URL(url), { authProvider });
  await client.connect(transport);
});
seen.tools = (await client.listTools()).tools.length;
seen.said.push(await call(usual));
seen.type = tokens.token_type;
seen.loggedIn = logins;

if (more) { // it is not good for everything
  seen.said.push(await call(more), await call(usual));
  seen.steppedUp = logins;
}

if (machine) {
  // One that is as old as the clocks may differ, but for a second.
  await admin({ ttl: 1, behind: 30 });
  await auth(authProvider, { serverUrl: url });
  await admin({ ttl: 600, behind: 0 });
  let before = tokens;
  await seconds(1.1);
  seen.said.push(await call(usual));
  seen.renewed = tokens.access_token !== before.access_token && tokens.refresh_token !== before.refresh_token && logins === 1;

  // One of a key that the issuer has withdrawn, of which the server hears by the token of another client.
  await admin({ rotate: 1 });
  const form = new URLSearchParams({ grant_type: 'client_credentials', scope: 'mcp', resource: url });
  const other = await (await fetch(issuer + '/token', { method: 'POST', headers: { authorization: 'Basic ' + btoa('machine:' + encodeURIComponent(machine)) }, body: form })).json();
  const headers = { authorization: 'Bearer ' + other.access_token, 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'machine', version: '1' } };
  seen.machine = (await fetch(url, { method: 'POST', headers, body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params }) })).status;
  before = tokens;
  seen.said.push(await call(usual));
  seen.rekeyed = tokens.access_token !== before.access_token && logins === 1;

  await admin({ ttl: 1, behind: 40 });
  await auth(authProvider, { serverUrl: url });
  await admin({ ttl: 600, behind: 0 });
}
// All is revoked, and the server is shown a token that is not good any more.
await fetch(issuer + '/token/revocation', {
  method: 'POST', body: new URLSearchParams({ client_id: information.client_id, token: tokens.refresh_token ?? tokens.access_token }),
});
seen.said.push(await call(usual));
seen.loggedInAgain = logins;
seen.client = information.client_id;
await client.close();
console.log(JSON.stringify(seen));
