// A load test: it repeats a call of a tool, several calls at the same time, and ends with the page.
import * as api from './api.js';
import { button, duration, element, facts, field, input, inRow, p, problem, replace, tag } from './dom.js';

// loadTest returns { node, close() } for a tool. text returns the JSON of its arguments.
export function loadTest(server, tool, text) {
	const number = (value, max) => input('number', { min: '1', max, value });
	const calls = number('100', '100000');
	const together = number('4', '64');
	const seconds = number('60', '600');
	const outcome = element('div', { role: 'status', test: 'load' });
	let running;
	const stop = button('Stop', () => running?.abort());
	const start = button('Start', run);
	stop.hidden = true;

	function show(report, state) {
		const rows = [['calls', report.calls.toLocaleString()], ['calls/s', report.per_second.toFixed(1)], ['p50', duration(report.p50_ms)], ['p95', duration(report.p95_ms)],
			['p99', duration(report.p99_ms)], ['max', duration(report.max_ms)], ['errors', report.errors.toLocaleString()],
			...Object.entries(report.kinds).sort(([, a], [, b]) => b - a).map(([kind, n]) => [`${n.toLocaleString()} ×`, kind]),
			...report.unanswered ? [['unanswered', report.unanswered]] : []];
		replace(outcome, element('p', { class: `outcome ${state !== 'running' && report.errors === 0 ? 'good' : ''}` }, `${state}, ${report.seconds.toFixed(1)} s`),
			facts(rows));
	}

	async function run() {
		running?.abort();
		const mine = new AbortController();
		running = mine;
		let latest;
		stop.hidden = false;
		replace(outcome, p('running'));
		try {
			const body = `{"server":${JSON.stringify(server)},"tool":${JSON.stringify(tool)},"arguments":${text().trim() || '{}'},"calls":${Number(calls.value)},"concurrency":${Number(together.value)},"seconds":${Number(seconds.value)}}`;
			for await (const report of api.events('load', { method: 'POST', body, signal: mine.signal })) {
				if (report.error) throw report.error;
				latest = report;
				show(report, report.done ? 'Done' : 'running');
			}
		} catch (error) {
			if (running !== mine) return;
			if (!mine.signal.aborted) replace(outcome, problem(error));
			else if (latest) show(latest, 'Stopped');
			else replace(outcome, p('Stopped'));
		}
		if (running === mine) stop.hidden = true;
	}

	const node = tag('details.load', tag('summary', 'Load test'),
		inRow(field('Calls', calls), field('At the same time', together), field('Seconds at most', seconds)),
		inRow(start, stop), outcome);
	return {
		node,
		close() {
			const mine = running;
			running = undefined;
			mine?.abort();
		},
	};
}
