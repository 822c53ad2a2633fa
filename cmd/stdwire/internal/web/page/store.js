// The page's copy of the state of stdwire. A topic is fetched again when it has changed.
import * as api from './api.js';

export const state = { about: {}, servers: [], calls: [], questions: [], updates: [], extensions: [], definitions: new Map(), lists: new Map(), selected: {}, changedLists: new Set(), connected: true };

const listeners = new Map(); // topic → functions

// on calls f after each change of a topic. It returns a function that ends that.
export function on(topic, f) {
	if (!listeners.has(topic)) listeners.set(topic, new Set());
	listeners.get(topic).add(f);
	return () => listeners.get(topic).delete(f);
}

export const emit = topic => { for (const f of [...listeners.get(topic) ?? []]) f(); };

// The views of a list, by the method that lists it.
const listViews = { 'tools/list': ['tools', 'apps'], 'prompts/list': ['prompts'], 'resources/list': ['resources', 'templates'] };

const simple = ['servers', 'calls', 'questions', 'updates', 'extensions'];
const loading = new Map(); // topic → whether it has to be fetched once more

export async function refresh(topic) {
	if (loading.has(topic)) {
		loading.set(topic, true);
		return;
	}
	loading.set(topic, false);
	try {
		state[topic] = await api.get(topic);
		if (topic === 'servers') for (const id of state.lists.keys()) if (!server(id)) state.lists.delete(id); // it was removed
		emit(topic);
	} catch { /* the stream of changes says that the connection is lost */ }
	const again = loading.get(topic);
	loading.delete(topic);
	if (again) await refresh(topic);
}

export async function start() {
	state.about = await api.get('about');
	await Promise.all(simple.map(refresh));
	let first = true; // the first event has all topics that have ever changed
	api.watch(topics => {
		for (const topic of topics) {
			if (simple.includes(topic)) refresh(topic);
			else if (topic.startsWith('definitions ')) {
				state.definitions.delete(topic.slice('definitions '.length));
				emit('definitions');
			} else if (topic.startsWith('list ')) {
				if (first) continue;
				for (const view of listViews[topic.slice('list '.length)] ?? []) state.changedLists.add(view);
				emit('lists');
			} else emit(topic);
		}
		first = false;
	}, (connected, error) => {
		state.connected = connected;
		state.refused = error;
		emit('connected');
	});
}

const pause = 1000; // ms between two fetches

// throttle calls fetch, and again after changes of topics, with a pause in between. It returns
// { soon, stop }: soon calls fetch again, and stop ends that.
export function throttle(fetch, ...topics) {
	let timer;
	let again = false;
	function soon() {
		if (timer) {
			again = true;
			return;
		}
		again = false;
		fetch();
		timer = setTimeout(() => {
			timer = undefined;
			if (again) soon();
		}, pause);
	}
	const ends = topics.map(topic => on(topic, soon));
	soon();
	return { soon, stop() {
		clearTimeout(timer);
		for (const end of ends) end();
	} };
}

// select says which definition the user looks at: { server, name }, or none.
export function select(selected) {
	if (JSON.stringify(state.selected) === JSON.stringify(selected)) return;
	state.selected = selected;
	emit('selected');
}

// definitions returns the definitions of a server. It starts the server if needed.
export async function definitions(server) {
	let known = state.definitions.get(server);
	if (!known) {
		known = api.get(api.of(server, 'definitions'));
		state.definitions.set(server, known);
		const forget = () => { if (state.definitions.get(server) === known) state.definitions.delete(server); };
		known.then(({ lists, problems }) => {
			if (problems) forget(); // the next view asks again
			state.lists.set(server, { ...state.lists.get(server), ...lists });
			emit('counts');
		}, forget);
	}
	return known;
}

export const server = id => state.servers.find(server => server.id === id);
