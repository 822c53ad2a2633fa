// Tasks of both eras. The page knows a task from its call, from the list of a server of 2025-11-25, or
// because the user has entered its id.
import * as api from './api.js';
import { anchor, attempt, button, code, date, div, duration, element, empty, field, folded, h2, h3, input, inRow, keyed, muted, p, pairs, replace, select, status, tag } from './dom.js';
import { tree } from './json.js';
import { callText, runner } from './panels.js';
import { questionsOf } from './questions.js';
import { on, state } from './store.js';

const most = 200; // tasks that are shown
const ended = task => ['completed', 'failed', 'cancelled'].includes(task.status);
const colours = { completed: 'good', failed: 'bad', cancelled: 'warn', input_required: 'warn' };
const path = server => api.of(server, 'tasks');
// the names of 2025-11-25 have no unit
const interval = task => task.pollIntervalMs ?? task.pollInterval;
const ttl = task => task.ttlMs !== undefined ? task.ttlMs : task.ttl;

export function tasks(root) {
	const cards = new Map(); // server and id → card
	const listed = new Map(); // server → tasks of its list
	const opened = []; // { server, task } that the user has entered
	const outcome = div();
	const notes = div();
	const list = element('div.cards', { test: 'tasks' });
	const chooser = div();
	const id = input('text', { onkeydown: event => { if (event.key === 'Enter') open(); } });
	const usable = () => state.servers.filter(server => !server.watched && server.state === 'ready').map(server => server.id);
	let chosen;

	const refresh = () => Promise.all(usable().map(server => attempt(outcome, async () => {
		const all = await api.get(path(server));
		listed.set(server, all);
		update();
	})));
	const open = () => {
		const task = id.value.trim();
		if (!task || !chosen) return;
		opened.push({ server: chosen, task: { taskId: task, status: 'unknown' } });
		id.value = '';
		update();
		cards.get(JSON.stringify([opened.at(-1).server, task]))?.look();
	};
	replace(root, h2('Tasks'), inRow(button('Refresh', refresh),
		tag('span.hint', '“Run as a task” makes a call a task; in the modern era the server decides.')),
	folded('Open a task by its id', chooser, field('Id of the task', id), button('Open', open)),
	outcome, notes, list);

	// known returns all tasks, that of the latest call first, each with the latest call that waits for
	// the task.
	function known() {
		const all = new Map();
		const add = (server, task, call) => {
			const key = JSON.stringify([server, task.taskId]);
			const entry = all.get(key) ?? { server, task };
			if (call?.running || !entry.call) entry.call = call;
			if (call?.tool) entry.origin = call;
			all.set(key, entry);
		};
		for (const call of state.calls.toReversed()) if (call.task) add(call.request.server, call.task, call);
		for (const { server, task } of opened) add(server, task);
		for (const [server, { tasks: some }] of listed) for (const task of some) add(server, task);
		return all;
	}

	function update() {
		const servers = usable();
		if (!servers.includes(chosen)) [chosen] = servers;
		replace(chooser, select(servers, chosen, value => { chosen = value; }, { label: 'Server of the task' }));
		const all = [...known()];
		keyed(cards, all.slice(0, most).map(([key, entry]) => ({ ...entry, key })), ({ key }) => key, entry => {
			const made = card(entry);
			list.append(made.node);
			return made;
		});
		replace(notes, all.length === 0 && (servers.length ? empty('No tasks', 'A task is a call that goes on in the background. Run a tool as one.', 'Tools')
				: empty('No server is running', 'Tasks are those of servers that run.', 'Servers')),
			all.length > most && muted(`${all.length - most} more are not shown.`),
			[...listed].filter(([server, all]) => all.more && servers.includes(server)).map(([server]) => muted(`${server} has more tasks.`)));
	}

	const ends = [on('calls', update), on('servers', update)];
	update();
	refresh();
	return {
		close() {
			for (const end of ends) end();
			for (const card of cards.values()) card.close();
		},
	};
}

function card({ server, task: { taskId } }) {
	const head = status('p');
	const facts = tag('dl.facts');
	const origin = p();
	const asked = div();
	const whole = div();
	const outcome = div();
	const problems = div();
	let now; // the latest state
	let seen; // the last argument of update, as JSON
	let call; // the call that waits for the task
	let timer;
	let endQuestions = () => {};
	const waits = runner(outcome);

	function show() {
		replace(head, element('span', { class: `badge ${colours[now.status] ?? 'info'}`, test: 'task-status' }, now.status), ' ', now.statusMessage ?? '');
		replace(facts, pairs([['server', server], ['created', now.createdAt && date(now.createdAt)], ['updated', now.lastUpdatedAt && date(now.lastUpdatedAt)], ['poll interval', duration(interval(now))],
			['kept for', ttl(now) === null ? 'ever' : ttl(now) >= 600_000 ? `${Math.round(ttl(now) / 60_000)} min` : duration(ttl(now))]]));
		cancel.hidden = ended(now);
		wait.hidden = Boolean(call?.running) || now.status === 'cancelled';
		wait.textContent = ended(now) ? 'Get the result' : now.status === 'input_required' ? 'Answer its questions' : 'Wait for it';
	}
	const ask = stop => attempt(problems, async () => {
		now = await api.post(path(server), { task: taskId, cancel: stop });
		show();
		if (object.open) replace(whole, tree(now));
	});
	// look polls the task while its JSON is shown, at the interval that the server suggests.
	async function look() {
		clearTimeout(timer);
		await ask(false);
		if (object.open && !ended(now)) timer = setTimeout(look, Math.min(Math.max(interval(now) ?? 5000, 1000), 60_000));
	}
	const cancel = button('Cancel the task', () => ask(true));
	const wait = button('Wait for it', () => waits.run(callText(server, 'tasks/get', JSON.stringify({ taskId }), { task: true })));
	const object = element('details', { ontoggle: () => { if (object.open) look(); else clearTimeout(timer); } }, tag('summary', 'The object'), whole);
	const node = element('section.card', { test: 'task', label: `Task ${taskId}` }, h3(code(taskId)), head, origin, facts, asked,
		inRow(wait, button('Poll', () => look()), cancel), problems, object, outcome);
	return {
		node, look,
		update(entry) {
			const text = JSON.stringify([entry.task, entry.call?.id, entry.call?.running]);
			if (text === seen) return;
			seen = text;
			call = entry.call;
			if (!now || !ended(now)) now = entry.task;
			endQuestions();
			endQuestions = questionsOf(asked, question => call?.running && question.call === call.id);
			replace(origin, entry.origin && anchor(`${api.address('tools', server, entry.origin.tool)}?call=${entry.origin.id}`, `a call of ${entry.origin.tool}`));
			show();
		},
		close() {
			clearTimeout(timer);
			endQuestions();
			waits.close();
		},
	};
}
