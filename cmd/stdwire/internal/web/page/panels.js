// The panel of a tool, resource, template or prompt: a form, a call, its result.
import * as api from './api.js';
import { appPanel, hasApp } from './apps.js';
import { toolLink } from './connect.js';
import { append, attempt, button, clock, copyIcon, div, duration, element, field, folded, hint, inRow, long, newID, onEnter, p, parts, primary, problem, replace, status, tag } from './dom.js';
import { form } from './form.js';
import { loadTest } from './load.js';
import { menu } from './menu.js';
import { messagesOf } from './monitor.js';
import { questionsOf } from './questions.js';
import { progress, result } from './result.js';
import { save } from './saved.js';
import { skillPanel } from './skills.js';
import { on, server as known, state } from './store.js';
import { toast } from './toast.js';

const json = JSON.stringify;

// runner shows a call: its progress and questions, its result and messages. With the address of the
// definition, that of the page names the call, which its query has after a reload.
export function runner(place, { address, query, shown = () => {} } = {}) {
	const live = element('div.call', { 'aria-live': 'polite', test: 'call' });
	const asked = div();
	const cancel = button('Cancel', () => api.post(`calls/${id}/cancel`));
	const traffic = div();
	const box = div(live, asked, traffic);
	append(place, box);
	let id;
	let finished = 0;
	let request;
	let closed = false;
	let began; // by the user
	const endQuestions = questionsOf(asked, question => id !== undefined && question.call === id);
	async function update() {
		if (id === undefined || finished === id) return;
		const call = state.calls.find(call => call.id === id);
		if (!call) return;
		if (call.running) {
			replace(live, tag('div.card', inRow(progress(call), cancel)));
			return;
		}
		finished = id;
		try {
			const whole = await api.exact(`calls/${id}`);
			if (whole.id !== id || closed) return;
			replace(live, result(whole));
			endTraffic();
			endTraffic = messagesOf(traffic, whole);
			if (began === id) box.scrollIntoView({ block: 'nearest' });
		} catch (error) {
			replace(live, problem(error));
		}
	}
	const end = on('calls', update);
	let endTraffic = () => {};
	const calls = {
		async run(text) {
			try {
				const started = await api.post('calls', text);
				if (closed) return;
				began = started.id;
				this.show(began);
				if (address) history.replaceState(null, '', `${address}?call=${id}`);
			} catch (error) {
				replace(live, problem(error));
			}
		},
		async show(number) {
			id = number;
			finished = 0;
			endTraffic();
			replace(traffic);
			replace(live, status('p', 'sent'));
			shown(number);
			await update();
		},
		async request(number) {
			request = (await api.exact(`calls/${number}`)).request;
			return request;
		},
		cancel() { if (id !== undefined && finished !== id) api.post(`calls/${id}/cancel`); },
		close() {
			closed = true;
			end();
			endQuestions();
			endTraffic();
		},
	};
	const given = Number(query?.get('call'));
	if (given) calls.show(given);
	return calls;
}

// callText returns the JSON of a call of the server with an id. params and meta are JSON, byte for byte as the user wrote it.
export const callText = (server, method, params, { meta, task } = {}) => `{"server":${json(server)},"method":${json(method)},"params":${params}${
	meta ? `,"meta":${meta}` : ''}${task ? ',"task":true' : ''}}`;

function completion(server, ref, others) {
	return (input, argument, changed) => {
		const list = element('datalist', { id: newID() });
		let last = 0;
		input.setAttribute('list', list.id);
		input.after(list);
		queueMicrotask(() => input.after(list));
		const ask = async () => {
			if (!known(server)?.details?.capabilities?.completions) return;
			const mine = ++last;
			try {
				const found = await api.post(api.of(server, 'complete'), { ref, argument, value: input.value, arguments: others(argument) });
				if (mine === last) replace(list, found.values.slice(0, 100).map(value => element('option', { value })));
			} catch { /* there are no completions */ }
		};
		input.addEventListener('focus', ask);
		input.addEventListener('input', () => { ask(); changed?.(); });
	};
}

function toolPanel(place, server, tool, { query, address }) {
	const meta = element('textarea', { rows: '2', placeholder: '{"key": "value"}' });
	const code = div();
	const showCode = (language, source) => replace(code, tag('div.ends', tag('span.label', language), copyIcon(source, `Copy: ${language}`)), long(source, { class: 'code', tabindex: '0' }));
	const inputs = form(tool.inputSchema, { changed: () => replace(code) });
	const outcome = div();
	const saving = div();
	const run = task => calls.run(callText(server, 'tools/call', `{"name":${json(tool.name)},"arguments":${inputs.text().trim() || '{}'}}`,
		{ meta: meta.value.trim(), task }));
	const support = tool.execution?.taskSupport;
	const asTask = button('Run as a task', () => run(true), { hidden: true });
	const update = () => {
		const can = known(server)?.details?.capabilities;
		asTask.hidden = support === 'forbidden' || !(support || can?.tasks || can?.extensions?.['io.modelcontextprotocol/tasks']);
	};
	update();
	const load = loadTest(server, tool.name, () => inputs.text());
	const copies = menu('Copy this call', () => [...['stdwire', 'curl', 'Go', 'TypeScript'].map(language => [language === 'stdwire' ? 'As a command line' : `As ${language}`, () => attempt(code, async () =>
		showCode(language, (await api.post(api.of(server, 'snippets'), { tool: tool.name, arguments: inputs.text() || '{}' }))[language]))]),
		['A link to it', () => attempt(saving, async () => {
			await navigator.clipboard.writeText(location.href.split('#')[0] + toolLink(server, tool.name, inputs.text().trim()));
			toast('Copied');
		})]], { text: 'Copy as' });
	const earlier = menu('Earlier calls', () => {
		const all = state.calls.filter(call => call.tool === tool.name && call.request.server === server).toReversed().slice(0, 20);
		return all.length === 0 ? ['None yet.'] : all.map(call => [`${clock(call.began)}  ${call.running ? 'runs' : call.error ? 'failed' : duration(call.ms)}`,
			() => {
				history.replaceState(null, '', `${address}?call=${call.id}`);
				show(new URLSearchParams({ call: call.id }));
			}]);
	}, { text: 'Earlier calls', attributes: { class: 'quiet push' } });
	const node = tag('div.card', inputs.node, folded('_meta', field('Members of _meta, as JSON', meta)),
		inRow(primary('Run', () => run(false), { title: 'Ctrl Enter' }),
			asTask,
			hasApp(tool) && button('Stage the input', () => app.stage(), { title: 'Opens the app before the call, to send it parts of the arguments' }),
			button('Save the call', () => save(saving, { server, tool: tool.name, arguments: inputs.model() })),
			copies, earlier), saving, code, load.node);
	append(place, [node, outcome]);
	const app = hasApp(tool) && appPanel(place, server, tool, () => inputs.text());
	const calls = runner(outcome, { address, shown: number => app && app.show(number) });
	onEnter(node, () => run(false), () => calls.cancel());
	const show = async next => {
		const given = next.get('args');
		if (given) inputs.set(given);
		const number = Number(next.get('call'));
		if (!number) return;
		calls.show(number);
		const request = await calls.request(number).catch(() => null);
		if (request?.params?.arguments) inputs.set(json(request.params.arguments, null, 2));
	};
	show(query);
	return { update, close() {
		calls.close();
		load.close();
		if (app) app.close();
	} };
}

function resourcePanel(place, server, resource, { query, address }) {
	const outcome = div();
	const updates = status();
	let wanted = false; // by the user, who has read it
	const calls = runner(outcome, { address, query, shown: () => { wanted = true; } });
	const read = () => calls.run(callText(server, 'resources/read', json({ uri: resource.uri })));
	const subscription = div();
	const path = api.of(server, 'subscriptions');
	let subscribed = false;
	const toggle = button('Subscribe', () => attempt(subscription, async () => {
		await api.post(path, { uri: resource.uri, on: !subscribed });
		subscribed = !subscribed;
		toggle.textContent = subscribed ? 'Unsubscribe' : 'Subscribe';
	}), { hidden: true });
	const update = () => { toggle.hidden = !known(server)?.details?.capabilities?.resources?.subscribe; };
	update();
	let seen = Date.now();
	const end = on('updates', () => {
		const mine = state.updates.filter(update => update.server === server && update.uri === resource.uri);
		const latest = mine.at(-1);
		if (!latest || latest.at < seen) return;
		seen = latest.at + 1;
		replace(updates, `It changed at ${clock(latest.at)}.`);
		if (subscribed || wanted) read();
	});
	append(place, [tag('div.card', inRow(primary('Read', read), toggle), subscription), updates, outcome]);
	return { update, close() {
		end();
		calls.close();
		if (subscribed) api.post(path, { uri: resource.uri, on: false });
	} };
}

function textFields(names, complete) {
	const inputs = new Map();
	const node = parts(tag('div.form'), names, ({ name, title, description, required }) => {
		const input = element('input', { type: 'text', required: required ?? false, label: name });
		inputs.set(name, input);
		const box = field((title ?? name) + (required ? ' *' : ''), input, description && hint(description));
		complete(input, name);
		return box;
	});
	return { node, inputs, values: () => Object.fromEntries([...inputs].map(([name, input]) => [name, input.value]).filter(([, value]) => value !== '')) };
}

function templatePanel(place, server, template, { address }) {
	const outcome = div();
	const calls = runner(outcome, { address });
	const shown = status('code');
	const expand = values => api.post('expand', { template: template.uriTemplate, values });
	const card = tag('div.card');
	const trouble = div();
	append(place, [card, trouble, outcome]);
	attempt(trouble, async () => {
		const { variables } = await expand({});
		const fields = textFields(variables.map(name => ({ name })), completion(server, { type: 'ref/resource', uri: template.uriTemplate }, except => without(fields.values(), except)));
		let last = 0;
		const update = () => attempt(trouble, async () => {
			const mine = ++last;
			const { uri } = await expand(fields.values());
			if (mine === last) shown.textContent = uri;
			return uri;
		});
		const read = async () => {
			const uri = await update();
			if (uri !== undefined) calls.run(callText(server, 'resources/read', json({ uri })));
		};
		fields.node.addEventListener('input', update);
		onEnter(fields.node, read, () => calls.cancel());
		append(card, [fields.node, p(shown), primary('Read', read)]);
		await update();
	});
	return { close: () => calls.close() };
}

const without = (values, name) => Object.fromEntries(Object.entries(values).filter(([key]) => key !== name));

function promptPanel(place, server, prompt, { query, address }) {
	const outcome = div();
	const calls = runner(outcome, { address, query });
	const fields = textFields(Array.isArray(prompt.arguments) ? prompt.arguments : [],
		completion(server, { type: 'ref/prompt', name: prompt.name }, except => without(fields.values(), except)));
	const run = () => calls.run(callText(server, 'prompts/get', json({ name: prompt.name, arguments: fields.values() })));
	onEnter(fields.node, run, () => calls.cancel());
	append(place, [tag('div.card', fields.node, primary('Get', run)), outcome]);
	return { close: () => calls.close() };
}

const panels = { tool: toolPanel, resource: resourcePanel, 'resource template': templatePanel, prompt: promptPanel, skill: skillPanel };

// panel adds the panel of a definition to place. at has its address, the query of the page's, and whether
// the user has chosen it: what the page selects by itself sends the server nothing. It returns { close(),
// update(chosen) }; update is optional, and hears of changes of the server's state.
export const panel = (kind, place, server, definition, at) => panels[kind](place, server, definition, at);
