// An authorization server, oidc-provider, whose user, ada, logs in and agrees to everything by herself. It prints its address, and ends with its standard input. Its argument is a JSON object:
//   resources  for which servers it issues tokens, by their URL: { format: jwt or opaque, scope: all that they have }
//   clients    that were registered beforehand
//   documents  about clients, by their URL, which it would fetch
//   scopes     that its metadata names and clients may be registered for
//   dpop       whether it binds tokens to keys; 'nonce': and wants its nonces in proofs
//   lasting    whether refresh tokens come with every login, and not only for offline_access
//   users      what its tokens say about users: claims, by their names
//   exchange   whether it exchanges its tokens for those of other servers (RFC 8693)
// A POST to /admin changes it, with a JSON object that may have
//   rotate     how many keys it has from now on: one more than before is new, and signs
//   ttl        of access tokens, in seconds
//   behind     how many seconds its clock is behind, as JWTs show it
//   denies     whether the user says no
//   user       who logs in
//   forgets    if it is to know nothing any more, but the clients that were registered beforehand
// and is answered with what has happened so far, and how often.
import { generateKeyPairSync } from 'node:crypto';
import { createServer } from 'node:http';
import { json } from 'node:stream/consumers';
import { importJWK, jwtVerify } from 'jose';
import { Provider, errors } from 'oidc-provider';

const { resources, clients = [], documents = {}, scopes = [], dpop, lasting, users = {}, exchange } = JSON.parse(process.argv[2]);
const now = { ttl: 600, behind: 0, denies: false, user: 'ada' };
const happened = {};
const note = what => { happened[what] = (happened[what] ?? 0) + 1; };

// What is kept, which is longer than a provider is.
const kept = new Map();
class Adapter {
  constructor(model) { this.model = model; }
  key(id) { return this.model + ' ' + id; }
  async upsert(id, payload) { kept.set(this.key(id), payload); }
  async find(id) { return kept.get(this.key(id)); }
  async findByUid(uid) { return [...kept].find(([key, payload]) => key.startsWith(this.model + ' ') && payload.uid === uid)?.[1]; }
  async consume(id) { (await this.find(id)).consumed = Math.floor(Date.now() / 1000); }
  async destroy(id) { kept.delete(this.key(id)); }
  async revokeByGrantId(id) { for (const [key, payload] of kept) if (payload.grantId === id) kept.delete(key); }
}

const tokenExchange = 'urn:ietf:params:oauth:grant-type:token-exchange';
const resourceServer = resource => {
  const found = resources[resource];
  if (!found) throw new errors.InvalidTarget();
  return { audience: resource, scope: found.scope, accessTokenFormat: found.format, ...(found.format === 'jwt' && { jwt: { sign: { alg: 'ES256' } } }) };
};

// Exchanges a token of a user, which must be for one of the servers, for his token of another server.
const exchangeToken = async ctx => {
  const { client, params } = ctx.oidc;
  const { d, ...key } = keys[0];
  const subject = await jwtVerify(params.subject_token, await importJWK(key), { issuer, audience: Object.keys(resources) }).catch(() => {
    throw new errors.InvalidGrant('the subject token is invalid');
  });
  const token = new provider.AccessToken({ accountId: subject.payload.sub, client, scope: params.scope });
  token.resourceServer = new provider.ResourceServer(params.resource, resourceServer(params.resource));
  ctx.body = { access_token: await token.save(), issued_token_type: 'urn:ietf:params:oauth:token-type:access_token', token_type: 'Bearer', expires_in: token.expiration };
};

let keys = [], provider, handler;
const rotate = most => {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  keys = [{ ...privateKey.export({ format: 'jwk' }), alg: 'ES256', use: 'sig' }, ...keys].slice(0, most);
  provider = new Provider(issuer, {
    adapter: Adapter, clients, jwks: { keys }, scopes: ['openid', 'offline_access', ...scopes],
    clientDefaults: { id_token_signed_response_alg: 'ES256' }, cookies: { keys: ['the same in all'] },
    pkce: { required: () => true }, responseTypes: ['code'], rotateRefreshToken: true,
    ...(lasting && { issueRefreshToken: (_, client) => client.grantTypeAllowed('refresh_token'), expiresWithSession: () => false }),
    extraTokenClaims: (_, token) => users[token.accountId],
    findAccount: (_, sub) => ({ accountId: sub, claims: () => ({ sub }) }),
    interactions: { url: (_, { uid }) => '/login/' + uid },
    formats: { customizers: { jwt: (_, __, { payload }) => { payload.iat -= now.behind; payload.exp -= now.behind; } } },
    ttl: { AccessToken: () => now.ttl, ClientCredentials: () => now.ttl, RefreshToken: 3600, Grant: 3600, Session: 3600, Interaction: 600, IdToken: 600 },
    fetch: async url => Response.json(documents[url], { status: documents[url] ? 200 : 404 }),
    features: {
      devInteractions: { enabled: false }, registration: { enabled: true }, revocation: { enabled: true }, introspection: { enabled: true }, clientCredentials: { enabled: true },
      clientIdMetadataDocument: { enabled: true, ack: 'draft-02' },
      dPoP: { enabled: !!dpop, ...(dpop === 'nonce' && { nonceSecret: Buffer.alloc(32, 7), requireNonce: () => true }) },
      resourceIndicators: {
        enabled: true, useGrantedResource: () => true,
        getResourceServerInfo: (_, resource) => resourceServer(resource),
      },
    },
  });
  if (exchange) provider.registerGrantType(tokenExchange, exchangeToken, ['subject_token', 'subject_token_type', 'resource', 'scope']);
  provider.on('grant.success', ctx => note('granted ' + ctx.oidc.params.grant_type));
  provider.on('grant.error', (ctx, error) => note(`refused ${ctx.oidc?.params?.grant_type}: ${error.error}`));
  provider.on('registration_create.success', () => note('registered'));
  provider.on('server_error', (_, error) => console.error(error));
  handler = provider.callback();
};

// What the user does with the pages that she is shown.
const login = async (request, response) => {
  const { prompt, params, session, grantId } = await provider.interactionDetails(request, response);
  note(prompt.name);
  if (now.denies) return provider.interactionFinished(request, response, { error: 'access_denied', error_description: 'Ada says no' });
  if (prompt.name === 'login') return provider.interactionFinished(request, response, { login: { accountId: now.user } });
  const grant = (grantId && await provider.Grant.find(grantId)) || new provider.Grant({ accountId: session.accountId, clientId: params.client_id });
  const { missingOIDCScope = [], missingResourceScopes = {} } = prompt.details;
  if (missingOIDCScope.length) grant.addOIDCScope(missingOIDCScope.join(' '));
  for (const [resource, scopes] of Object.entries(missingResourceScopes)) grant.addResourceScope(resource, scopes.join(' '));
  return provider.interactionFinished(request, response, { consent: { grantId: await grant.save() } });
};

const admin = async (request, response) => {
  const { rotate: most, forgets, ...rest } = await json(request);
  if (forgets) kept.clear();
  if (most || forgets) rotate(most ?? 1);
  Object.assign(now, rest);
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify(happened));
};

const server = createServer((request, response) => {
  const failed = error => { console.error(error); response.writeHead(500).end(); };
  const { pathname } = new URL(request.url, issuer);
  if (pathname === '/admin') return admin(request, response).catch(failed);
  if (pathname.startsWith('/login/')) return login(request, response).catch(failed);
  note(request.method + ' ' + pathname);
  return handler(request, response);
});
await new Promise(resolve => server.listen(0, '127.0.0.1', resolve));
const issuer = `http://127.0.0.1:${server.address().port}`;
rotate(1);
console.log(issuer);
process.stdin.resume().on('end', () => process.exit());
