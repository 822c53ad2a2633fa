// The API of stdwire. The address of the page has a token, which is exchanged once for the key that
// each request carries.
import { parse } from './json.js';

const stored = 'stdwire key';
let key = localStorage.getItem(stored);

// Problem is an error of the API, with the members code, message, hint and stderr.
export class Problem extends Error {
	constructor(body) {
		super(body.message);
		Object.assign(this, body);
	}
}

// open exchanges the token of the address, if there is one, for the key, and removes it from the
// address.
export async function open() {
	const token = /^#token=([^&]+)&?(.*)$/.exec(location.hash);
	if (!token) return;
	history.replaceState(null, '', '#' + token[2]);
	const response = await fetch('session', { method: 'POST', body: JSON.stringify({ token: token[1] }) });
	if (response.ok) {
		key = (await response.json()).key;
		localStorage.setItem(stored, key);
	} else if (!key) {
		throw new Problem(await response.json());
	} // otherwise the token was used already, and the key of then is stored
}

async function request(path, options = {}) {
	let response;
	try {
		response = await fetch('api/' + path, { ...options, headers: { Authorization: `Bearer ${key}` } });
	} catch (error) {
		if (error.name === 'AbortError') throw error;
		throw new Problem({ code: 'unreachable', message: 'stdwire web does not answer; it may have ended' });
	}
	if (!response.ok) throw new Problem(await response.json());
	return response;
}

export const get = async path => (await request(path)).json();

// exact is get, except that numbers keep their text.
export const exact = async path => parse(await (await request(path)).text());

export const blob = async path => {
	const response = await request(path);
	const name = /filename="(.*)"/.exec(response.headers.get('Content-Disposition'))?.[1];
	return { blob: await response.blob(), name };
};

export const post = async (path, value = {}) => (await request(path,
	{ method: 'POST', body: typeof value === 'string' || value instanceof Blob ? value : JSON.stringify(value) })).json();

// segments joins the segments of a path, and address those of an address of this page.
export const segments = (...parts) => parts.map(encodeURIComponent).join('/');

// of returns the path of what the API has of a server.
export const of = (server, what) => `servers/${segments(server)}/${what}`;

export const address = (...parts) => `#/${segments(...parts)}`;

// filtered returns the address of the messages that a filter selects.
export const filtered = filter => `#/timeline?filter=${encodeURIComponent(filter)}`;

// events yields the values of a stream of Server-Sent Events until it ends.
export async function* events(path, options) {
	const response = await request(path, options);
	const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
	let rest = [];
	for (;;) {
		const { value, done } = await reader.read();
		if (done) return;
		const lines = value.split('\n');
		rest.push(lines[0]);
		for (const line of lines.slice(1)) {
			const whole = rest.join('');
			rest = [line];
			if (whole.startsWith('data: ')) yield JSON.parse(whole.slice(6));
		}
	}
}

// watch calls changed with the names of changed topics, and connected with whether stdwire answers,
// until the page is closed.
export async function watch(changed, connected) {
	let known = {};
	for (;;) {
		try {
			for await (const now of events('changes')) {
				connected(true);
				const topics = Object.keys(now).filter(topic => now[topic] !== known[topic]);
				known = now;
				if (topics.length > 0) changed(topics);
			}
		} catch (error) {
			if (error.code === 'refused') {
				connected(false, error);
				return;
			}
		}
		connected(false);
		await new Promise(resolve => { setTimeout(resolve, 1000); });
	}
}
