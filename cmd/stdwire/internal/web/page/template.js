// URI templates (RFC 6570) of resource templates.
const expression = /\{([+#./;?&]?)([^{}]*)\}/g;

// variables returns the names of the variables of a template.
export const variables = template => [...new Set([...template.matchAll(expression)]
	.flatMap(match => match[2].split(',').map(part => part.replace(/(\*|:\d+)$/, ''))))];

const first = { '': '', '+': '', '#': '#', '.': '.', '/': '/', ';': ';', '?': '?', '&': '&' };
const separator = { '': ',', '+': ',', '#': ',', '.': '.', '/': '/', ';': ';', '?': '&', '&': '&' };

const escape = text => encodeURIComponent(text).replace(/[!'()*]/g, c => '%' + c.charCodeAt(0).toString(16).toUpperCase());

// expand returns the URI for values.
export const expand = (template, values) => template.replace(expression, (_, operator, list) => {
	const named = ';?&'.includes(operator) && operator !== '';
	const parts = list.split(',').flatMap(part => {
		const [, name, length] = /^(.*?)(?:\*|:(\d+))?$/.exec(part);
		if (values[name] === undefined) return [];
		const value = length ? [...values[name]].slice(0, Number(length)).join('') : values[name];
		const text = '+#'.includes(operator) && operator !== '' ? encodeURI(value).replaceAll('%25', '%') : escape(value);
		return [named ? `${name}=${text}` : text];
	});
	return parts.length > 0 ? first[operator] + parts.join(separator[operator]) : '';
});
