// The authorization of requests to a server at a URL: status, login and logout. The page has no token.
import * as api from './api.js';
import { append, attempt, button, code, copyIcon, date, div, facts, hint, link, p, problem, replace, status, strong, tag } from './dom.js';
import { on } from './store.js';

const states = { // in short, and in full
	valid: ['logged in', at => at ? `is valid until ${at}` : 'has no known expiry'],
	renewable: ['logged in', at => `expired at ${at}, and is renewed at its next use`],
	expired: ['expired', at => `expired at ${at}`],
};

// authorization returns { node, update(), close() } for a server.
export function authorization(id) {
	const path = api.of(id, 'authorization');
	const outcome = status('div');
	const summary = tag('summary', 'Authorization');
	const known = div();
	const row = tag('div.row');
	const node = tag('details.authorization', summary, known, row, outcome);
	const act = action => attempt(outcome, async () => {
		replace(outcome);
		const { warning } = await api.post(`${path}/${action}`) ?? {};
		if (warning) append(outcome, tag('p.warn', warning));
		await update();
	});
	const login = button('Log in', () => act('login'));
	const logout = button('Log out', () => act('logout'), { title: 'Deletes and revokes the credentials' });
	const cancel = button('Cancel the login', () => act('cancel'));
	append(row, [login, logout, cancel]);
	let shown = '';
	async function update() {
		const status = await api.get(path).catch(error => ({ credentials: [], problem: error, why: ' ' }));
		const text = JSON.stringify(status);
		if (text === shown) return;
		shown = text;
		const any = status.credentials.length > 0;
		const short = any ? states[status.credentials[0].state][0] : !status.why && 'not logged in';
		summary.textContent = `Authorization${short ? `: ${short}` : ''}`;
		replace(known, status.why?.trim() && p(`${status.why}.`),
			status.credentials.map(credential => facts([['logged in at', credential.issuer],
				['the token', states[credential.state][1](credential.expires && date(credential.expires))], ['scopes', credential.scopes.join(' ')]])),
			!any && !status.why && p('Not logged in. Not every server requires a login.'),
			status.page ? p(strong('Open this page and grant access there: '), link(status.page, new URL(status.page).host))
				: status.running && p('Looking for the authorization server …'),
			status.problem && problem(status.problem),
			status.command && !any && hint('At the terminal: ', code(status.command), ' ', copyIcon(status.command)));
		if (status.running || status.problem && !status.why) node.open = true;
		login.hidden = Boolean(status.why || status.running);
		login.textContent = any ? 'Log in again' : 'Log in';
		logout.hidden = Boolean(status.why) || !any;
		cancel.hidden = !status.running;
	}
	return { node, update, close: on('authorization', update) };
}
