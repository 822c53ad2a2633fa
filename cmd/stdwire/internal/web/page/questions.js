// The questions of servers: forms, pages to visit, sampling, roots. All are answered in a sheet; the panel
// of a call links to its own.
import * as api from './api.js';
import { attempt, button, code, div, element, facts, field, folded, h2, h3, hint, iconButton, input, inRow, keyed, link, muted, onEnter, p, primary, replace, select, status, strong, tag } from './dom.js';
import { form } from './form.js';
import { icon } from './icons.js';
import { tree } from './json.js';
import { messages } from './result.js';
import { parseRoots } from './roots.js';
import { emit, on, state } from './store.js';
import { toast } from './toast.js';

const titles = { 'elicitation/create': 'asks', 'sampling/createMessage': 'wants a model’s answer', 'roots/list': 'wants to know the roots', 'ui/open-link': 'has an app that wants to open a link',
	'tools/call': 'has an app that calls a tool that may destroy something' };

// queue shows the questions that a filter selects in place. It keeps what the user has typed.
function queue(place, selects, changed = () => {}) {
	const shown = new Map(); // id → { node, update }
	const update = () => {
		const wanted = state.questions.filter(selects);
		keyed(shown, wanted, question => question.id, question => {
			const node = questionNode(question);
			place.append(node);
			return { node, update(now) { node.querySelector('.command').textContent = now.command ?? ''; } };
		});
		changed(wanted);
	};
	update();
	return on('questions', update);
}

// questions shows all questions in a sheet, and returns a function that puts it away or, given true, goes
// to the first one. A new question shows it, with the focus if the user is at a call that asks; that for
// the roots of a server which starts is only a note.
export function questions(place) {
	const head = h2('Questions');
	let away = true;
	let known = new Set();
	const fold = open => {
		away = !open;
		place.hidden = away || known.size === 0;
		if (!place.hidden) place.querySelector('.question :is(button, input, select, textarea)')?.focus();
	};
	const later = () => {
		fold(false);
		document.getElementById('ask').focus();
	};
	place.addEventListener('keydown', event => {
		if (event.key !== 'Escape' || event.defaultPrevented) return;
		event.preventDefault();
		later();
	});
	place.append(tag('div.ends', head, iconButton('close', 'Later', later)));
	on('answer', () => fold(true));
	queue(place, () => true, wanted => {
		const fresh = wanted.filter(question => !known.has(question.id));
		if (fresh.some(({ call, method }) => call || method !== 'roots/list')) away = false;
		else if (fresh.length > 0) toast(`${fresh[0].server} ${titles[fresh[0].method]}`, ['Answer', () => fold(true)]);
		known = new Set(wanted.map(question => question.id));
		place.hidden = away || wanted.length === 0;
		if (fresh.some(({ call }) => call) && document.activeElement.closest('.detail')) fold(true);
		head.textContent = wanted.length === 1 ? 'Question' : `${wanted.length} questions`;
		document.body.dataset.questions = wanted.length;
	});
	return fold;
}

// questionsOf links the questions of one call, and returns a function that ends that.
export function questionsOf(place, selects) {
	const update = () => replace(place, state.questions.filter(selects).map(question => tag('p.asked',
		`${question.server} ${titles[question.method]}: `, button('Answer', () => {
			emit('answer');
			const node = document.getElementById(`question-${question.id}`);
			node?.scrollIntoView();
			node?.querySelector('input, textarea, select, button')?.focus();
		}))));
	update();
	return on('questions', update);
}

function questionNode(question) {
	const outcome = div();
	const send = (result, always = false) => attempt(outcome, () => api.post(`questions/${question.id}`,
		result === null ? '{"result":null}' : `{"result":${typeof result === 'string' ? result : JSON.stringify(result)},"always":${always}}`));
	const node = element('section.question', { test: 'question', id: `question-${question.id}`, label: `Question ${question.id} of ${question.server}` },
		h3(`${question.server} ${titles[question.method] ?? question.method}`),
		status('p.command.hint'));
	const bodies = { 'elicitation/create': elicitation, 'sampling/createMessage': sampling, 'roots/list': roots, 'ui/open-link': openLink, 'tools/call': callTool };
	const submit = bodies[question.method](node, question, send);
	onEnter(node, submit);
	node.append(outcome);
	return node;
}

function elicitation(node, { params }, send) {
	node.append(tag('p.description', params.message));
	const rest = [button('Decline', () => send({ action: 'decline' })), button('Cancel', () => send({ action: 'cancel' }))];
	if (params.mode === 'url') {
		const accept = () => send({ action: 'accept' });
		let parts = {};
		try {
			parts = new URL(params.url);
		} catch { /* an invalid URL is shown as text */ }
		node.append(p('The server wants you to visit ', strong(parts.host ?? ''), ':'),
			facts([['host', parts.host], ['path', parts.pathname], ['query', parts.search], ['encrypted', parts.protocol && (parts.protocol === 'https:' ? 'yes' : 'no')]].map(([term, value]) => [term, value && code(value)])),
			tag('p.url', link(params.url)), hint('Open it only if you trust the server.'),
			inRow(primary('I agree', accept), rest));
		return accept;
	}
	const inputs = form(params.requestedSchema);
	const accept = () => send(`{"action":"accept","content":${inputs.text()}}`);
	node.append(inputs.node, tag('p.note', icon('warning'), 'The server reads what you send. Do not type passwords or keys here.'),
		inRow(primary('Send', accept, { title: 'Ctrl Enter' }), rest));
	return accept;
}

const answers = (text, submit, send) => inRow(primary(text, submit, { title: 'Ctrl Enter' }), button('Refuse', () => send(null)));

function callTool(node, { params }, send) {
	const accept = () => send({});
	node.append(p('The app wants to call ', strong(params.name), ' with:'), tree(params.arguments ?? {}),
		answers('Call', accept, send));
	return accept;
}

function openLink(node, { params }, send) {
	const accept = () => {
		open(params.url, '_blank', 'noopener,noreferrer');
		send({});
	};
	node.append(p('The app wants to open ', strong(new URL(params.url).host), ':'), tag('p.url', params.url),
		answers('Open', accept, send));
	return accept;
}

function sampling(node, { params, server }, send) {
	const text = element('textarea', { rows: '4' });
	const model = input('text', { value: 'human' });
	const role = muted([params.systemPrompt && `System: ${params.systemPrompt}`,
		`at most ${params.maxTokens} tokens`].filter(Boolean).join(' · '));
	const stop = select(['endTurn', 'stopSequence', 'maxTokens'], 'endTurn', () => {});
	const answer = () => ({ role: 'assistant', content: { type: 'text', text: text.value }, model: model.value, stopReason: stop.value });
	const submit = () => send(answer());
	const sent = tag('pre.code');
	const preview = element('details', { ontoggle: () => show() }, tag('summary', 'What is sent'), sent);
	const show = () => { sent.textContent = JSON.stringify(answer(), null, 2); };
	node.addEventListener('input', show);
	node.append(role, messages(params.messages ?? [], server),
	params.tools?.length ? folded(`${params.tools.length} tools`, tree(params.tools)) : '',
	field('The answer', text), field('Model', model), field('Stop reason', stop), preview,
	answers('Send', submit, send));
	return submit;
}

function roots(node, _, send) {
	const text = element('textarea', { rows: '3', placeholder: 'file:///home/me/project' });
	const always = input('checkbox', { checked: true });
	const submit = () => send(parseRoots(text.value), always.checked);
	node.append(field('Roots: file: URIs, one a line', text), p(tag('label', always, ' Give the same answer from now on')),
		answers('Send', submit, send));
	return submit;
}
