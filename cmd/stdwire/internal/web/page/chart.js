// The chart of the timeline: a lane for each server, a bar for each request, and in it the messages that
// belong to it. Only what is visible is drawn, one message for each pixel.
import { duration, element } from './dom.js';
import { failed, laneList } from './messages.js';
import { on } from './store.js';

const gutter = 104, inset = 10, bar = 14, gap = 3, pad = 8, axis = 18;

const families = Object.assign(Object.create(null), { tools: 'f-tools', resources: 'f-resources', prompts: 'f-prompts', tasks: 'f-tasks',
	elicitation: 'f-questions', sampling: 'f-questions', roots: 'f-questions' });

export const family = (method = '') => families[method.slice(0, Math.max(method.indexOf('/'), 0))] ?? 'f-session';

export function chart({ select, selects, selected }) {
	const canvas = element('canvas.chart', { role: 'img', label: 'Timeline of requests' });
	const probe = element('span', { hidden: true });
	const node = element('div.chart-box', { tabindex: '0' }, canvas, probe);
	let colors = {};
	let from = 0, to = 1000, auto = true; // auto shows everything
	let dirty = false;
	let ended = false;
	let boxes = []; // what is drawn: { x, y, w, message }

	function color(name) {
		colors[name] ??= (probe.style.color = `var(--${name})`, getComputedStyle(probe).color);
		return colors[name];
	}

	const end = message => message.response?.t ?? message.ended ?? Math.max(message.t, newest);
	let newest = 0;

	function bounds() {
		let first = Infinity;
		newest = 0;
		for (const lane of laneList()) {
			for (const list of [lane.bars, lane.inner, lane.ticks]) {
				if (list.length === 0) continue;
				first = Math.min(first, list[0].t);
				newest = Math.max(newest, list.at(-1).t, list.at(-1).response?.t ?? 0);
			}
		}
		return first === Infinity ? [0, 1000] : [first, Math.max(newest, first + 1)];
	}

	function draw() {
		dirty = false;
		if (ended) return;
		const all = bounds();
		if (auto) {
			const margin = (all[1] - all[0]) * 0.02;
			from = all[0] - margin;
			to = all[1] + margin;
		}
		const lanes = laneList();
		let height = axis;
		for (const lane of lanes) {
			lane.y = height;
			height += pad + Math.max(lane.tracks.length, 1) * (bar + gap) + 6;
		}
		const width = node.clientWidth || 600, ratio = devicePixelRatio || 1;
		canvas.style.height = `${height}px`;
		if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
			canvas.width = Math.round(width * ratio);
			canvas.height = Math.round(height * ratio);
		}
		const g = canvas.getContext('2d');
		g.setTransform(ratio, 0, 0, ratio, 0, 0);
		g.clearRect(0, 0, width, height);
		g.font = '11px system-ui, sans-serif';
		const x = t => gutter + (t - from) / (to - from) * (width - gutter);
		boxes = [];
		drawAxis(g, x, width, height, all[0]);
		const matches = selects();
		for (const lane of lanes) drawLane(g, lane, x, width, matches);
		canvas.ariaLabel = `Timeline: ${lanes.map(lane => `${lane.name}, ${lane.bars.length} requests`).join('; ') || 'empty'}`;
	}

	function drawAxis(g, x, width, height, zero) {
		const span = to - from;
		let step = 10 ** Math.floor(Math.log10(span / 4));
		for (const factor of [5, 2]) if (span / (step * factor) > Math.min(width / 200, 4)) { step *= factor; break; }
		g.fillStyle = color('text-2');
		g.strokeStyle = color('line');
		g.beginPath();
		for (let t = zero + Math.ceil((from - zero) / step) * step; t < to; t += step) {
			const at = x(t);
			if (at < gutter) continue;
			g.moveTo(at, axis - 3);
			g.lineTo(at, height);
			if (at < width - 48) g.fillText(t === zero ? '0' : duration(t - zero), at + 2, 13);
		}
		g.stroke();
	}

	function drawLane(g, lane, x, width, matches) {
		g.fillStyle = color('text');
		g.fillText(lane.name.length > 15 ? lane.name.slice(0, 14) + '…' : lane.name, inset, lane.y + pad + 11);
		const top = track => lane.y + pad + track * (bar + gap);
		const occupied = []; // the last pixel that is drawn, by track
		const box = (message, y, h, fill) => {
			const left = Math.max(x(message.t), gutter), right = Math.min(x(end(message)), width);
			if (right < gutter || left > width) return;
			const w = Math.max(right - left, 2);
			const bad = failed(message);
			if (w <= 2 && !bad && left < (occupied[y] ?? -1)) return;
			occupied[y] = left + 1;
			g.globalAlpha = matches(message) ? 1 : 0.15;
			g.fillStyle = bad ? color('bad') : fill;
			g.fillRect(left, y, w, h);
			if (message === selected()) {
				g.globalAlpha = 1;
				g.strokeStyle = color('text');
				g.strokeRect(left - 1, y - 1, w + 2, h + 2);
			}
			if (w > 60 && h === bar) {
				g.fillStyle = color('surface');
				g.fillText(`${message.about ?? message.method}`.slice(0, Math.floor(w / 7)), left + 3, y + 10);
			}
			boxes.push({ x: left, y, w, h, message });
		};
		for (const message of lane.bars) {
			if (message.t > to) break;
			box(message, top(message.track), bar, color(family(message.method)));
		}
		for (const message of lane.inner) {
			if (message.t > to) break;
			const y = top(message.track);
			if (message.kind === 'request') box(message, y + 4, bar - 8, color('f-questions'));
			else tick(g, message, x, y, bar, matches);
		}
		const y = top(Math.max(lane.tracks.length, 1));
		for (const message of lane.ticks) {
			if (message.t > to) break;
			tick(g, message, x, y - 2, 5, matches);
		}
		g.globalAlpha = 1;
	}

	let lastTick = -1;
	function tick(g, message, x, y, h, matches) {
		const at = Math.round(x(message.t));
		if (at < gutter || at === lastTick) return;
		lastTick = at;
		g.globalAlpha = matches(message) ? 1 : 0.15;
		g.fillStyle = message.kind === 'junk' ? color('bad') : color('f-session');
		g.fillRect(at, y, 1.5, h);
		boxes.push({ x: at - 2, y, w: 5, h, message });
	}

	function redraw() {
		if (!dirty) requestAnimationFrame(draw);
		dirty = true;
	}

	function zoom(factor, at = 0.5) {
		const center = from + (to - from) * at, span = Math.min(Math.max((to - from) * factor, 0.01), 1e10);
		from = center - span * at;
		to = from + span;
		auto = false;
		redraw();
	}

	const hit = event => {
		const { offsetX: x, offsetY: y } = event;
		return boxes.findLast(box => x >= box.x - 1 && x <= box.x + box.w + 1 && y >= box.y - 1 && y <= box.y + box.h + 1);
	};
	canvas.addEventListener('wheel', event => {
		event.preventDefault();
		if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) pan((event.deltaX || event.deltaY) / canvas.clientWidth);
		else zoom(event.deltaY > 0 ? 1.25 : 0.8, Math.max(event.offsetX - gutter, 0) / (canvas.clientWidth - gutter));
	}, { passive: false });
	let dragged = null;
	canvas.addEventListener('pointerdown', event => {
		dragged = { x: event.clientX, moved: false };
		canvas.setPointerCapture(event.pointerId);
	});
	canvas.addEventListener('pointermove', event => {
		const over = hit(event);
		canvas.title = over ? `${over.message.method} ${over.message.about ?? ''} ${duration(over.message.response?.ms)}` : '';
		if (!dragged) return;
		const by = event.clientX - dragged.x;
		if (Math.abs(by) > 3) dragged.moved = true;
		if (dragged.moved) {
			pan(-by / (canvas.clientWidth - gutter));
			dragged.x = event.clientX;
		}
	});
	canvas.addEventListener('pointerup', event => {
		if (dragged && !dragged.moved) {
			const over = hit(event);
			if (over) select(over.message);
		}
		dragged = null;
	});
	const pan = part => {
		const by = (to - from) * part;
		from += by;
		to += by;
		auto = false;
		redraw();
	};
	const size = new ResizeObserver(redraw);
	size.observe(node);
	const recolor = () => {
		colors = {};
		redraw();
	};
	const endTheme = on('theme', recolor);
	const preferred = matchMedia('(prefers-color-scheme: dark)');
	preferred.addEventListener('change', recolor);
	return { node, redraw, zoom, pan, fit() { auto = true; redraw(); },
		show(message) {
			if (auto || message.t >= from && message.t <= to) return;
			const span = to - from;
			from = message.t - span / 2;
			to = from + span;
		},
		close() {
			ended = true;
			size.disconnect();
			endTheme();
			preferred.removeEventListener('change', recolor);
		} };
}
