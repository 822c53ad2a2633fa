// The messages of all connections, and the filter of the timeline.
import * as api from './api.js';
import { on } from './store.js';

const messages = []; // in the order of their numbers
const byNumber = new Map();
let lanes = new Map(); // name → lane
const handshakes = new Map(); // connection → the number of its latest initialize
let last = 0;
const listeners = new Set();
const maxTracks = 8;

export const all = messages;
export const find = number => byNumber.get(number);
export const laneList = () => [...lanes.values()];
export const connections = () => [...new Map(laneList().flatMap(lane => [...lane.connections].map(n => [n, lane.name])))];

// A lane has the requests of the client, drawn as bars, each on a free track; the messages that are drawn
// inside the bars; and those that belong to no request. A request without a response ends when
// the next connection begins.
const newLane = name => ({ name, first: 0, lost: 0, bars: [], inner: [], ticks: [], tracks: [], connections: new Set() });

// add adds a message, and reports whether it can change what others are, see legacy.
function add(message) {
	messages.push(message);
	byNumber.set(message.n, message);
	if (!lanes.has(message.lane)) lanes.set(message.lane, newLane(message.lane));
	const lane = lanes.get(message.lane);
	if (!lane.connections.has(message.conn)) for (const request of [...lane.bars, ...lane.inner]) if (!request.response) request.ended ??= message.t;
	lane.connections.add(message.conn);
	message.parent = message.within ? byNumber.get(message.within) : undefined;
	if (message.kind === 'response') {
		const request = byNumber.get(message.of);
		if (request) request.response = message;
		message.request = request;
	} else if (message.kind === 'request' && message.parent === undefined && message.from === 'client') {
		let track = lane.tracks.findIndex(request => request.conn !== message.conn || request.response && request.response.t <= message.t);
		if (track < 0) track = Math.min(lane.tracks.length, maxTracks - 1);
		lane.tracks[track] = message;
		message.track = track;
		lane.bars.push(message);
	} else if (message.parent) {
		message.track = message.parent.track ?? 0;
		lane.inner.push(message);
	} else lane.ticks.push(message);
	if (message.kind !== 'request' || message.method !== 'initialize') return false;
	handshakes.set(message.conn, message.n);
	return true;
}

function prune(now) {
	let changed = false;
	for (const [name, lane] of lanes) {
		const first = now[name]?.first ?? Infinity;
		if (first > lane.first) {
			lane.first = first;
			lane.lost = now[name]?.lost ?? 0;
			const kept = list => list.filter(message => message.n >= first);
			const before = lane.bars.length + lane.inner.length + lane.ticks.length;
			Object.assign(lane, { bars: kept(lane.bars), inner: kept(lane.inner), ticks: kept(lane.ticks) });
			changed ||= before !== lane.bars.length + lane.inner.length + lane.ticks.length || first === Infinity;
			if (first === Infinity) lanes.delete(name);
		}
	}
	if (!changed) return false;
	const kept = messages.filter(message => message.n >= (lanes.get(message.lane)?.first ?? Infinity));
	messages.length = 0;
	byNumber.clear();
	for (const message of kept) {
		messages.push(message);
		byNumber.set(message.n, message);
	}
	for (const [connection, n] of handshakes) if (!byNumber.has(n)) handshakes.delete(connection);
	return true;
}

let fetching = false;
let again = false;

export async function update() {
	if (fetching) {
		again = true;
		return;
	}
	fetching = true;
	try {
		for (let more = true; more;) {
			again = false;
			const page = await api.get(`traffic?after=${last}`);
			let changed = false;
			for (const message of page.messages) changed = add(message) || changed;
			if (page.messages.length > 0) last = page.messages.at(-1).n;
			const pruned = prune(page.lanes);
			for (const f of listeners) f(pruned || changed);
			more = page.messages.length > 0 && last < page.last || again;
		}
	} catch { /* the stream of changes says that the connection is lost */
	} finally {
		fetching = false;
	}
}

// listen calls f after messages were added. The argument says whether others were removed or changed.
export function listen(f) {
	listeners.add(f);
	return () => listeners.delete(f);
}

let started = false;

export function start() {
	if (!started) on('traffic', update);
	started = true;
	update();
}

const durations = /^([<>])(\d+(?:\.\d+)?)(ms|s)?$/;

// parseFilter returns the predicate of a filter such as "method:tools/call server:files from:server
// kind:request error >100ms text:word". found has the numbers of the messages that contain each text.
export function parseFilter(text, found = new Map()) {
	const tests = text.split(/\s+/).filter(Boolean).map(word => {
		const negated = word.startsWith('-') && word.length > 1;
		const test = term(negated ? word.slice(1) : word, found);
		return negated ? message => !test(message) : test;
	});
	return message => tests.every(test => test(message));
}

const has = (text, part) => (text ?? '').toLowerCase().includes(part.toLowerCase());

// what a word such as server:files tests of a message
const tests = {
	method: ({ method }, value) => has(method, value),
	server: ({ lane }, value) => has(lane, value),
	from: ({ from }, value) => from.startsWith(value),
	kind: ({ kind }, value) => kind.startsWith(value),
	id: ({ id }, value) => id === value || id === `"${value}"`,
	conn: ({ conn }, value) => String(conn) === value,
	text: ({ n }, value, found) => found.get(value)?.has(n) ?? false,
	call: (message, value) => [message, message.request, message.parent].some(part => [part?.n, part?.within].includes(Number(value))),
};

function term(word, found) {
	const slow = durations.exec(word);
	if (slow) {
		const limit = Number(slow[2]) * (slow[3] === 's' ? 1000 : 1);
		const ms = message => (message.response ?? message).ms;
		return slow[1] === '>' ? message => ms(message) > limit : message => ms(message) < limit;
	}
	const [, name, value] = /^(\w+):(.*)$/.exec(word) ?? [];
	if (Object.hasOwn(tests, name)) return message => tests[name](message, value, found);
	if (/^errors?$/.test(word)) return failed;
	return ({ method, about, lane, failed }) => [method, about, lane, failed].some(text => has(text, word));
}

// legacy reports whether a server of the legacy era has refused server/discover, as it should: not for
// a reason that only servers of the modern era have, and the client has sent initialize next.
export const legacy = message => message.method === 'server/discover' && /^error (?!-3202[012]$)/.test((message.response ?? message).failed) &&
	handshakes.get(message.conn) > (message.request ?? message).n;

// normal says in words what is an error by its code only; otherwise it returns false.
export function normal(message) {
	const { failed: why, from } = message.response ?? message;
	return legacy(message) ? 'not supported, legacy era' : why === 'error -1' && from === 'client' && 'declined';
}

export const failed = message => Boolean(message.failed || message.response?.failed || message.kind === 'junk') && !normal(message);

// texts returns the words of a filter that are searched for in the bytes of messages.
export const texts = filter => [...filter.matchAll(/(?:^|\s)-?text:(\S+)/g)].map(match => match[1]);
