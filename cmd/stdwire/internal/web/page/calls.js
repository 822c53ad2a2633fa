// Calls of which the page itself uses the result.
import * as api from './api.js';
import { on, state } from './store.js';

// answer makes a call, and returns its result when it has ended.
export async function answer(server, method, params) {
	const { id } = await api.post('calls', { server, method, params });
	await new Promise(resolve => {
		const look = () => {
			if (state.calls.find(call => call.id === id)?.running !== false) return;
			end();
			resolve();
		};
		const end = on('calls', look);
		look();
	});
	const { error, result } = await api.exact(`calls/${id}`);
	if (error) throw error;
	return result;
}
