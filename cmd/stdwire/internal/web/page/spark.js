// Bars for the calls of the last hour, and those of them that failed.
import { picture, shape } from './icons.js';
import { failed } from './messages.js';

const parts = 30;
const width = 3_600_000 / parts; // ms

export function spark(calls) {
	const now = Date.now();
	const recent = calls.filter(call => call.t > now - parts * width);
	const counts = list => {
		const all = Array(parts).fill(0);
		for (const call of list) all[Math.max(parts - 1 - Math.floor((now - call.t) / width), 0)]++;
		return all;
	};
	const bad = recent.filter(failed);
	const most = Math.max(...counts(recent), 1);
	const bars = (list, name) => shape('path', { class: name, d: counts(list).map((n, i) => n && `M${i * 3 + 2} 15v-${Math.max(n / most * 14, 2)}`).filter(Boolean).join('') });
	return picture(`0 0 ${parts * 3 + 1} 16`, 'spark', `${recent.length} calls in the last hour, ${bad.length} failed`, shape('path', { class: 'axis', d: `M0 15.5h${parts * 3 + 1}` }), bars(recent, ''), bars(bad, 'bad'));
}
