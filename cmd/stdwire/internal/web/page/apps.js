// Apps: the pages that servers offer beside the results of their tools. An app runs in a frame of
// another origin. It says nothing to this page but messages, which stdwire judges.
import * as api from './api.js';
import { anchor, append, attempt, button, bytes, div, element, faint, folded, head, hint, inRow, li, newID, p, problem, replace, select, status, strong, tag, theme } from './dom.js';
import { content } from './result.js';
import { tree } from './json.js';
import { on } from './store.js';

export const hasApp = tool => typeof (tool._meta?.ui?.resourceUri ?? tool._meta?.['ui/resourceUri']) === 'string';

const most = 500; // messages at once
const rate = 100; // further ones, a second
const longest = 8 << 20; // characters of a message, and of those that wait
const tallest = 2000; // pixels
const kept = 200; // entries of the log

// budget counts what arrives, and reports false for more than an app may say.
function budget() {
	let left = most;
	let at = performance.now();
	return () => {
		const now = performance.now();
		left = Math.min(most, left + (now - at) / 1000 * rate) - 1;
		at = now;
		return left > 0;
	};
}

const agreed = new Set(); // digests of the apps that the user has seen described

const refusals = about => [
	about.invalid && `It also asks for ${about.invalid.join(', ')}, which is no origin.`,
	about.domain && `It asks for the origin ${about.domain}: this page gives apps no origin, and so no storage and no cookies.`,
].filter(Boolean).map(text => hint(text));

// appPanel shows the app of a tool for calls, beside their results, and before a call with parts of
// its arguments, which input returns as JSON.
export function appPanel(place, server, tool, input) {
	const box = element('section.app-box', { label: 'App' });
	append(place, box);
	let shown; // the app that is shown
	let latest; // the call that it is for; 0 before it

	async function show(call) {
		if (call === latest) return;
		latest = call;
		if (call && shown?.setCall(call)) return;
		shown?.close();
		shown = undefined;
		replace(box);
		const about = await attempt(box, () => api.post('apps/read', { server, tool: tool.name }));
		if (!about || latest !== call) return;
		const wanted = Object.keys(about.permissions ?? {});
		const open = async permissions => {
			agreed.add(about.digest);
			const width = Math.floor(box.clientWidth) - (about.border === false ? 0 : 2); // without the border
			replace(box); // so that nobody opens two
			const started = await attempt(box, () => api.post('apps', { server, tool: tool.name, call, digest: about.digest, permissions,
				theme: theme(), locale: navigator.language, timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone, width }));
			if (!started) return;
			if (latest === call) shown = frame(box, tool, about, { ...started, width }, permissions, call === 0 && input);
			else api.post(`apps/${started.id}/close`).catch(() => {});
		};
		const plain = !about.origins && wanted.length === 0;
		if (plain && agreed.has(about.digest)) {
			open({});
			return;
		}
		const boxes = new Map(wanted.map(name => [name, element('input', { type: 'checkbox' })]));
		replace(box, element('div.card', { 'data-plain': String(plain) }, head('This tool has an app'),
			p('It is a program of the server. The page keeps it from fetching anything from other machines',
				about.origins ? ' but those below' : '', ', but no browser lets the page prevent WebRTC: an app that is malicious can send what it sees to anybody.'),
			about.origins && p('It wants to reach ', strong(about.origins.join(', ')), '.'),
			refusals(about),
			wanted.length > 0 && p('It wants to use:'),
			[...boxes].map(([name, input]) => p(tag('label', input, ' ', name))),
			button('Show the app', () => open(Object.fromEntries([...boxes].filter(([, input]) => input.checked).map(([name]) => [name, {}]))))));
	}

	return { show, stage() {
		latest = undefined;
		show(0);
	}, close() {
		latest = undefined;
		shown?.close();
	} };
}

const modes = [['inline', 'In the page'], ['pip', 'In a corner'], ['fullscreen', 'Full screen']];
const sizes = [['', 'As it fits'], ['360', '360 wide'], ['360 640', '360 × 640'], ['768 1024', '768 × 1024']];

// frame shows an app that stdwire has opened. Before its call is made, input returns the arguments.
function frame(box, tool, about, started, permissions, input) {
	const path = `apps/${api.segments(started.id)}`;
	const notice = status();
	const log = element('ol.app-log', { tabindex: '0', label: 'What the app says' });
	const told = div();
	const view = element('iframe', { class: about.border === false ? 'app' : 'app app-border', title: `App of ${tool.title ?? tool.name}`,
		allow: started.allow, sandbox: 'allow-scripts allow-same-origin allow-forms',
		src: `${started.address}#${encodeURIComponent(location.origin)}` });
	let telling = Promise.resolve();
	// tell posts what the app must hear, in order.
	const tell = (what, body) => {
		const told = telling.then(() => ended || api.post(`${path}/${what}`, body));
		telling = told.catch(() => {});
		return told;
	};
	const mode = select(modes, 'inline', next => attempt(notice, async () => {
		mode.value = displayed; // until the app has been told
		await tell('context', { displayMode: next });
		if (!ended) display(next);
	}), { label: 'Display mode' });
	const size = select(sizes, '', () => resize(), { label: 'Size' });
	const written = element('input', { type: 'range', step: '5', value: '0', id: newID(),
		oninput: () => attempt(notice, () => tell('partial', `{"percent":${written.value},"arguments":${input().trim() || '{}'}}`)) });
	const stage = input && inRow(element('label', { for: written.id }, 'Arguments written so far'), written);
	const node = tag('div.app-node',
		inRow(head('App'), mode, size, button('Close the app', () => close()),
			anchor(api.filtered(`server:${started.lane}`), 'Its messages'),
			faint(`${about.uri}, ${bytes(about.size)}`)),
		refusals(about), stage, notice, view, told, log);
	replace(box, node);

	let displayed = 'inline';
	let wantedHeight = ''; // by the app
	function display(next) {
		displayed = mode.value = next;
		node.dataset.mode = next;
		resize();
	}
	// resize gives the app the size that it wants, or the one that the user has selected.
	function resize() {
		size.hidden = displayed !== 'inline';
		const [width, height] = size.hidden ? [] : size.value.split(' ');
		view.style.width = width ? `${width}px` : '';
		view.style.height = height ? `${height}px` : size.hidden ? '' : wantedHeight;
		measure();
	}

	// The app hears of its size: of the height only if it does not follow the app.
	let known = `${started.width} 0`;
	let initialized = false;
	let pause;
	function measure() {
		clearTimeout(pause);
		pause = setTimeout(() => {
			const width = view.clientWidth;
			const height = size.hidden || size.value.includes(' ') ? view.clientHeight : 0;
			if (!initialized || width === 0 || known === `${width} ${height}`) return;
			known = `${width} ${height}`;
			tell('context', { width, height }).catch(() => {});
		}, 100);
	}
	const observer = new ResizeObserver(measure);
	observer.observe(view);
	const stopMeasuring = () => {
		observer.disconnect();
		clearTimeout(pause);
	};

	let ended = false;
	const stream = new AbortController(); // without its reader, stdwire ends the app
	const queue = [];
	let waiting = 0; // characters in queue
	let sending = false;
	async function send() {
		if (sending) return;
		sending = true;
		try {
			while (queue.length > 0 && !ended) {
				const all = queue.splice(0, 100);
				waiting -= all.reduce((sum, text) => sum + text.length, 0);
				await api.post(`${path}/messages`, `[${all.join(',')}]`);
			}
		} catch (error) {
			end(error.message);
		}
		sending = false;
	}

	const may = budget();
	let gesture = false; // whether the latest request for a display mode followed one in the app
	const heard = event => {
		if (ended) return;
		if (!may()) { // whoever sends them: while there is an app, it is the app
			end('it sends too many messages');
			return;
		}
		// both are null once the frame is gone
		if (!event.source || event.source !== view.contentWindow || event.origin !== started.origin) return;
		if (event.data?.method === 'ui/notifications/sandbox-proxy-ready') {
			view.contentWindow.postMessage({ jsonrpc: '2.0', method: 'ui/notifications/sandbox-resource-ready',
				params: { html: started.html, permissions } }, started.origin);
			return;
		}
		if (event.data?.method === 'ui/notifications/sandbox-gesture') { // only the proxy says so
			gesture = event.data.params.active && navigator.userActivation?.isActive === true;
			return;
		}
		let { data } = event;
		// Full screen could look like another program: it needs a gesture in the app.
		if (data?.method === 'ui/request-display-mode' && data.params?.mode === 'fullscreen' && !gesture) {
			data = { ...data, params: { mode: displayed } };
			say('refused', 'the full screen, because you have not just clicked or typed in the app');
		}
		let text;
		try {
			text = JSON.stringify(data);
		} catch { /* it is no JSON */ }
		if (text === undefined || text[0] !== '{') return;
		if (text.length + waiting > longest) {
			end('its messages are too large');
			return;
		}
		const { method, params } = data;
		const supported = params?.appCapabilities?.availableDisplayModes;
		if (method === 'ui/initialize' && Array.isArray(supported)) for (const option of mode.options) option.disabled = !supported.includes(option.value);
		if (method === 'ui/notifications/initialized') {
			initialized = true;
			measure();
		}
		queue.push(text);
		waiting += text.length;
		send();
	};
	addEventListener('message', heard);

	const say = (kind, ...parts) => {
		log.append(li(strong(kind), ' ', parts));
		while (log.childElementCount > kept) log.firstElementChild.remove();
	};
	const handlers = {
		message: message => view.contentWindow?.postMessage(message, started.origin),
		mode: display,
		size: ({ height }) => {
			if (height > 0) wantedHeight = `${Math.min(height, tallest)}px`;
			resize();
		},
		log: ({ level, logger, data }) => say(`log, ${level}`, logger && `${logger}: `, typeof data === 'string' ? data : tree(data)),
		said: ({ content: blocks }) => say('message', [blocks].flat().map(block => content(block, ''))),
		context: ({ content: blocks = [], structuredContent }) => replace(told, folded('What the model would know',
			blocks.map(block => content(block, '')), structuredContent && tree(structuredContent))),
	};
	(async () => {
		try {
			for await (const event of api.events(`${path}/events`, { signal: stream.signal })) {
				for (const [kind, value] of Object.entries(event)) handlers[kind]?.(value);
			}
			end('stdwire or the server has ended it');
		} catch (error) {
			end(error.message);
		}
	})();
	const endTheme = on('theme', () => tell('context', { theme: theme() }).catch(() => {}));

	function end(why) {
		if (ended) return;
		ended = true;
		removeEventListener('message', heard);
		endTheme();
		display('inline');
		stopMeasuring();
		for (const node of [view, mode, size, stage]) if (node) node.remove();
		stream.abort();
		if (why) replace(notice, problem({ message: `The app was ended: ${why}.` }));
	}

	// close lets the app save what it must, out of sight, and removes it. A frame that cannot be moved
	// without a reload is removed at once.
	async function close() {
		if (ended) return;
		display('inline');
		stopMeasuring();
		node.hidden = true;
		document.body.moveBefore?.(node, null);
		await api.post(`${path}/close`).catch(() => {});
		end();
		node.remove();
	}

	// setCall sets the call of an app that is shown before its call, and reports false for another app.
	function setCall(call) {
		if (!input || ended) return false;
		input = undefined;
		stage.remove();
		attempt(notice, () => tell('call', { call }));
		return true;
	}
	return { close, setCall };
}
