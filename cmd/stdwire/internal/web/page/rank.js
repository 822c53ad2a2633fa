// The order of what a search finds.

// search returns the rows that have all words of a query, the best first: those with the name that is
// searched for, then those whose name begins with it, has words that begin with it, or has it anywhere.
// texts returns all of a row's text, and its names, in lower case.
export function search(rows, query, texts) {
	const words = query.toLowerCase().split(/\s+/).filter(Boolean);
	if (words.length === 0) return rows;
	const whole = words.join(' ');
	const rank = name => {
		if (name === whole) return 0;
		if (name.startsWith(whole)) return 1;
		const parts = name.split(/[^\p{L}\p{N}]+/u);
		if (words.every(word => parts.some(part => part.startsWith(word)))) return 2;
		return words.every(word => name.includes(word)) ? 3 : 4;
	};
	return rows.flatMap(row => {
		const [all, ...names] = texts(row);
		return words.every(word => all.includes(word)) ? [[Math.min(...names.map(rank)), row]] : [];
	}).sort(([a], [b]) => a - b).map(([, row]) => row);
}
