// The icons of the page: lines on a grid of 24, in the colour of the text around them.

const paths = {
	mark: 'M17 7h-6a2.5 2.5 0 0 0 0 5h2a2.5 2.5 0 0 1 0 5H7',
	servers: 'M4 5h16v5.5H4zM4 13.5h16V19H4zM7.5 7.8h.01M7.5 16.3h.01M11 7.8h5M11 16.3h5',
	tools: 'M14.5 6.5a4 4 0 0 0-5 5L4 17l3 3 5.5-5.5a4 4 0 0 0 5-5L14.8 12 12 9.2z',
	resources: 'M6 3.5h8l4 4v13H6zM14 3.5v4h4M9 12h6M9 15.5h6',
	templates: 'M9 4.5H7v5.5l-2 2 2 2v5.5h2M15 4.5h2v5.5l2 2-2 2v5.5h-2',
	prompts: 'M4 5h16v11h-8l-4 4v-4H4zM8 9h8M8 12.2h5',
	skills: 'M12 7c-2-1.5-4.5-2-8-2v12.5c3.5 0 6 .5 8 2 2-1.5 4.5-2 8-2V5c-3.5 0-6 .5-8 2zM12 7v12.5',
	apps: 'M4 5h16v14H4zM4 9h16M6.8 7h.01M9.3 7h.01',
	gateway: 'M4 7h3.5l3 5H20M4 17h3.5l3-5M17 9l3 3-3 3',
	search: 'M16 10.5a5.5 5.5 0 1 1-11 0 5.5 5.5 0 0 1 11 0zM14.5 14.5 20 20',
	more: 'M7 12a1 1 0 1 1-2 0 1 1 0 0 1 2 0zM13 12a1 1 0 1 1-2 0 1 1 0 0 1 2 0zM19 12a1 1 0 1 1-2 0 1 1 0 0 1 2 0z',
	tasks: 'M10.5 6.5H20M10.5 12H20M10.5 17.5H20M4 6.5l1.2 1.2 2.3-2.4M4 12l1.2 1.2 2.3-2.4M4 17.5l1.2 1.2 2.3-2.4',
	saved: 'M7 4h10v16l-5-4-5 4z',
	timeline: 'M4 4v16M7 7h6M10 12h8M14 17h6',
	logs: 'M4 6h16M4 10h10M4 14h14M4 18h8',
	network: 'M4 8.5h15l-3.5-3.5M20 15.5H5l3.5 3.5',
	messages: 'M15 4.5v15M4 4.5h16v15H4zM17 8h.01M17 11.5h.01',
	questions: 'M6.5 16.5V11a5.5 5.5 0 0 1 11 0v5.5l1.5 1.5H5zM10 20.5h4',
	keys: 'M9.5 9.5a2.5 2.5 0 1 1 3.7 2.2c-.8.5-1.2 1-1.2 1.9M12 16.5h.01M20.5 12a8.5 8.5 0 1 1-17 0 8.5 8.5 0 0 1 17 0z',
	theme: 'M12 3.5a8.5 8.5 0 1 0 0 17zM12 3.5a8.5 8.5 0 0 1 0 17',
	density: 'M4 5h16M4 9.5h16M4 14h16M4 18.5h16',
	down: 'M7 10l5 5 5-5',
	copy: 'M8.5 8.5H20V20H8.5zM15.5 8.5V4H4v11.5h4.5',
	warning: 'M12 4.5 21 19.5H3zM12 10v4.5M12 17h.01',
	command: 'M4 5h16v14H4zM7.5 9.5l2.5 2.5-2.5 2.5M12.5 15H16',
	close: 'M6.5 6.5l11 11M17.5 6.5l-11 11',
	play: 'M8 5.5v13l10.5-6.5z',
	computer: 'M4 5h16v11H4zM9.5 20h5M12 16v4',
	pin: 'M9 4.5h6M10 4.5V10l-3 3.5h10L14 10V4.5M12 13.5V20',
	readOnly: 'M3 12c2.2-4 5.2-6 9-6s6.8 2 9 6c-2.2 4-5.2 6-9 6s-6.8-2-9-6zM14.5 12a2.5 2.5 0 1 1-5 0 2.5 2.5 0 0 1 5 0z',
	destructive: 'M5 7h14M9.5 7V4.5h5V7M7 7l.8 12.5h8.4L17 7M10.5 10.5V16M13.5 10.5V16',
	openWorld: 'M20.5 12a8.5 8.5 0 1 1-17 0 8.5 8.5 0 0 1 17 0zM3.5 12h17M12 3.5c3.3 5 3.3 12 0 17M12 3.5c-3.3 5-3.3 12 0 17',
};

export function shape(name, attributes = {}, ...children) {
	const node = document.createElementNS('http://www.w3.org/2000/svg', name);
	for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
	node.append(...children);
	return node;
}

// picture returns shapes as a picture. Without a label it is hidden from screen readers: words beside it
// say the same.
export const picture = (viewBox, className, label, ...shapes) => shape('svg', { viewBox, class: className, ...label ? { role: 'img', 'aria-label': label } : { 'aria-hidden': 'true' } },
	...label ? [shape('title', {}, label)] : [], ...shapes);

export const icon = (name, label) => picture('0 0 24 24', 'icon', label, shape('path', { d: paths[name] }));
