// A form for a JSON Schema, beside the JSON that it describes. The user edits as JSON what the form
// cannot express. The form shows the value itself, so the two never differ.
import { button, div, element, faint, folded, hint, input, inRow, newID, select, short as shortened, status, tag } from './dom.js';
import { format, isRaw, parse } from './json.js';

const maxDepth = 12; // of nested schemas

// What a user's action may cost, so that no schema keeps the page busy: a schema that is looked at
// costs `look`, a member or an option 1, and text a hundredth of its length.
const budget = 60_000;
const look = 10;

// A Document is a schema in which references are resolved, with what is left of the budget.
class Document {
	constructor(schema) {
		this.schema = schema;
		this.left = budget;
	}

	spend(cost) {
		this.left -= cost;
		if (this.left < 0) throw new RangeError('The schema is too large for a form: edit the JSON.');
	}

	merge(part) {
		this.spend(Object.keys(part).length + Object.keys(part.properties ?? {}).length + (part.required?.length ?? 0));
	}

	json(value) {
		const text = JSON.stringify(value) ?? '';
		this.spend(text.length / 100);
		return text;
	}
}

const short = text => shortened(String(text));

// resolve follows the references of a schema within its document, and merges allOf.
function resolve(schema, root, depth = 0) {
	root.spend(look);
	if (typeof (schema ?? 0) !== 'object') return {};
	if (depth > maxDepth) return {};
	if (typeof schema.$ref === 'string') {
		const { $ref, ...beside } = schema;
		let found = root.schema;
		root.spend(Object.keys(schema).length + $ref.length / 10);
		if ($ref.startsWith('#')) {
			for (const step of $ref.slice(1).split('/').slice(1)) {
				found = found?.[decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~')];
			}
		} else found = undefined;
		return { ...resolve(found, root, depth + 1), ...beside };
	}
	if (Array.isArray(schema.allOf)) {
		const { allOf, ...beside } = schema;
		const all = [...allOf, beside].map(part => resolve(part, root, depth + 1));
		all.forEach(part => root.merge(part));
		return Object.assign({}, ...all, {
			properties: Object.assign({}, ...all.map(part => part.properties ?? {})),
			required: all.flatMap(part => part.required ?? []),
		});
	}
	return schema;
}

// choices returns the values of an enumeration with their names, or null.
function choices(schema, root) {
	if (Array.isArray(schema.enum)) {
		root.spend(schema.enum.length);
		return schema.enum.map((value, i) => [value, schema.enumNames?.[i] ?? (typeof value === 'string' ? value : root.json(value))]);
	}
	const variants = (schema.oneOf ?? schema.anyOf)?.map(variant => resolve(variant, root));
	if (variants?.length && variants.every(variant => variant.const !== undefined)) {
		return variants.map(variant => [variant.const, variant.title ?? root.json(variant.const)]);
	}
	return null;
}

// variants returns the schemas of anyOf or oneOf, or null.
function variants(schema, root) {
	const { oneOf, anyOf, ...beside } = schema;
	const list = oneOf ?? anyOf;
	if (Array.isArray(list)) {
		return list.map(variant => {
			const resolved = resolve(variant, root);
			const merged = { ...beside, ...resolved };
			for (const part of [beside, resolved]) root.merge(part);
			if (beside.properties || resolved.properties) merged.properties = { ...beside.properties, ...resolved.properties };
			if (beside.required || resolved.required) merged.required = [...beside.required ?? [], ...resolved.required ?? []];
			return merged;
		});
	}
	if (Array.isArray(schema.type)) return schema.type.map(type => ({ ...schema, type }));
	return null;
}

const typeOf = value => value === null ? 'null' : Array.isArray(value) ? 'array' : isRaw(value) ? 'number' : typeof value;

// suits reports whether a value may match a schema, judged by its type and constants.
function suits(value, schema, root) {
	if (schema.const !== undefined) return root.json(value) === root.json(schema.const);
	const type = schema.type ?? (schema.properties ? 'object' : schema.items ? 'array' : undefined);
	const is = typeOf(value);
	if (type !== undefined && type !== is && !(type === 'integer' && is === 'number')) return false;
	root.spend(Object.keys(schema.properties ?? {}).length);
	return is !== 'object' || ((schema.required ?? []).every(name => name in value) &&
		Object.entries(schema.properties ?? {}).every(([name, property]) => property?.const === undefined || value[name] === property.const));
}

const requiredOf = (schema, root) => {
	root.spend(schema.required?.length ?? 0);
	return new Set(schema.required);
};

function initial(schema, root = new Document(schema), depth = 0) {
	schema = resolve(schema, root);
	if (schema.default !== undefined) return parse(root.json(schema.default));
	if (schema.const !== undefined) return schema.const;
	const listed = choices(schema, root);
	if (listed) return listed[0]?.[0];
	const several = variants(schema, root);
	if (several && depth < maxDepth) return initial(several[0], root, depth + 1);
	switch (schema.type ?? (schema.properties && 'object')) {
		case 'object': {
			const value = {};
			const required = requiredOf(schema, root);
			for (const [name, property] of Object.entries(schema.properties ?? {})) {
				const resolved = resolve(property, root);
				if (required.has(name) ? depth < maxDepth : resolved.default !== undefined) {
					value[name] = initial(property, root, depth + 1);
				}
			}
			return value;
		}
		case 'array': return Array.from({ length: depth < maxDepth ? Math.min(schema.minItems ?? 0, 20) : 0 },
			(_, i) => initial(schema.prefixItems?.[i] ?? schema.items, root, depth + 1));
		case 'boolean': return false;
		case 'integer': case 'number': return schema.minimum ?? 0;
		case 'null': return null;
		case 'string': return '';
		default: return null;
	}
}

const inputTypes = { date: 'date', time: 'time', email: 'email', uri: 'url' };
const binary = schema => schema.contentEncoding === 'base64' || ['byte', 'binary', 'base64', 'file'].includes(schema.format);

const base64 = file => new Promise((resolve, reject) => {
	const reader = new FileReader();
	reader.onload = () => resolve(reader.result.slice(reader.result.indexOf(',') + 1));
	reader.onerror = () => reject(reader.error);
	reader.readAsDataURL(file);
});

// A control is { node, get() }. changed is called after each change by the user.
function control(schema, root, value, changed, label, depth) {
	schema = resolve(schema, root);
	const listed = choices(schema, root);
	if (schema.const !== undefined) {
		return { node: element('output', { label }, root.json(schema.const)), get: () => schema.const };
	}
	if (listed) return enumeration(listed, root, value, changed, label);
	const several = variants(schema, root);
	if (several && depth < maxDepth) return variantControl(several, root, value, changed, label, depth);
	const type = schema.type ?? (schema.properties ? 'object' : schema.items || schema.prefixItems ? 'array' : undefined);
	if (depth >= maxDepth) return jsonControl(value, root, changed, label);
	switch (type) {
		case 'object': return schema.properties || schema.additionalProperties || depth === 0
			? objectControl(schema, root, value, changed, label, depth) : jsonControl(value ?? {}, root, changed, label);
		case 'array': return arrayControl(schema, root, value, changed, label, depth);
		case 'boolean': return enumeration([[true, 'true'], [false, 'false']], root, value, changed, label);
		case 'null': return { node: element('output', { label }, 'null'), get: () => null };
		case 'integer': case 'number': return numberControl(schema, value, changed, label);
		case 'string': return stringControl(schema, root, value, changed, label);
		default: return jsonControl(value, root, changed, label);
	}
}

function enumeration(listed, root, value, changed, label) {
	const wanted = root.json(value);
	const at = listed.findIndex(([choice]) => root.json(choice) === wanted);
	if (listed.length > 1 && listed.length <= 4 && listed.map(([, text]) => text).join('').length <= 32) {
		const name = newID();
		const node = element('div.seg', { role: 'radiogroup', label, onchange: changed }, listed.map(([, text], i) =>
			tag('label', input('radio', { name, value: String(i), checked: i === Math.max(at, 0) }), text)));
		return { node, get: () => listed[Number(node.querySelector(':checked')?.value)]?.[0] };
	}
	const node = select(listed.map(([, text], i) => [String(i), short(text)]), String(Math.max(at, 0)), changed, { label });
	return { node, get: () => listed[Number(node.value)]?.[0] };
}

function variantControl(several, root, value, changed, label, depth) {
	const node = tag('div.variant');
	let at = Math.max(several.findIndex(schema => suits(value, schema, root)), 0);
	let inner;
	const show = current => {
		inner = control(several[at], root, current, changed, label, depth + 1);
		const names = several.map((schema, i) => [String(i), short(schema.title ?? schema.type ?? (schema.const !== undefined ? root.json(schema.const) : `Variant ${i + 1}`))]);
		root.spend(names.length);
		node.replaceChildren(select(names, String(at), chosen => root.act(() => {
			at = Number(chosen);
			show(initial(several[at], root, depth + 1));
			changed();
		}), { label: `${label}: kind` }), inner.node);
	};
	show(value);
	return { node, get: () => inner.get() };
}

function numberControl(schema, value, changed, label) {
	const node = input('text', { inputmode: schema.type === 'integer' ? 'numeric' : 'decimal', oninput: changed,
		label, value: (value ?? '') === '' ? '' : isRaw(value) ? value.rawJSON : String(value) });
	return { node, get() {
		let number;
		try {
			number = parse(node.value.trim());
		} catch { /* it is no JSON */ }
		const valid = typeof number === 'number' || isRaw(number);
		node.ariaInvalid = !valid;
		return valid ? number : node.value; // the server says what is wrong with it
	} };
}

function stringControl(schema, root, value, changed, label) {
	const text = typeof value === 'string' ? value : '';
	root.spend(text.length / 100);
	const large = text.includes('\n') || text.length > 120 || (schema.maxLength ?? 0) > 200 || binary(schema);
	const attributes = { oninput: changed, label, value: text, placeholder: schema.examples?.[0] !== undefined && short(schema.examples[0]) };
	const node = large ? element('textarea', { rows: '3', ...attributes }) : input(inputTypes[schema.format] ?? 'text', attributes);
	const get = () => node.value;
	if (root.complete) root.complete(node, label, changed);
	if (!binary(schema)) return { node, get };
	const file = input('file', { label: `${label}: a file`, async onchange() {
		if (file.files[0]) {
			node.value = await base64(file.files[0]);
			changed();
		}
	} });
	return { node: div(node, file), get };
}

function jsonControl(value, root, changed, label) {
	const text = format(value ?? null);
	root.spend(text.length / 100);
	const node = element('textarea', { rows: '2', label: `${label}, as JSON`, value: text, oninput: changed });
	let last = value ?? null;
	return { node, get() {
		try {
			last = parse(node.value);
			node.ariaInvalid = false;
		} catch {
			node.ariaInvalid = true;
		}
		return last;
	} };
}

function objectControl(schema, root, value, changed, label, depth) {
	value = typeOf(value) === 'object' ? value : {};
	const node = element(depth === 0 ? 'div' : 'fieldset', { class: 'object' }, depth > 0 && tag('legend', label));
	const members = new Map(); // name → control
	const places = new Map(); // name → its element
	const required = requiredOf(schema, root);
	const properties = schema.properties ?? {};
	const add = (name, property) => {
		const described = resolve(property, root);
		const place = tag('div.member');
		const text = short(described.title ?? name);
		const wanted = required.has(name);
		const include = input('checkbox', { checked: wanted || name in value, disabled: wanted,
			label: `Send ${text}`, onchange: () => root.act(() => {
				show(include.checked);
				changed();
			}) });
		let member;
		const show = included => {
			const current = name in value && !member ? value[name] : member ? member.get() : initial(property, root, depth + 1);
			member = control(property, root, current, () => {
				if (!include.checked) {
					include.checked = true;
					members.set(name, member);
				}
				changed();
			}, text, depth + 1);
			if (included) members.set(name, member); else members.delete(name);
			const help = described.description && hint(short(described.description));
			place.replaceChildren(tag('span.name', !wanted && include, tag('span', text),
				wanted && element('span.required', { title: 'required' }, ' *'),
				faint(' ' + summary(described))), member.node, help || '');
		};
		show(include.checked);
		places.set(name, place);
		node.append(place);
	};
	for (const [name, property] of Object.entries(properties)) add(name, property);
	if (depth === 0) for (const [title, names] of root.groups) {
		const absent = names.filter(name => places.has(name) && !(name in value)).map(name => places.get(name));
		if (absent.length > 0) node.append(folded(title, absent));
	}
	const others = Object.keys(value).filter(name => !(name in properties));
	for (const name of others) add(name, schema.additionalProperties || {});
	if (schema.additionalProperties && typeof schema.additionalProperties === 'object') {
		const name = input('text', { label: `Name of a member of ${label}` });
		node.append(inRow(name, button('Add', () => root.act(() => {
			if (name.value === '' || members.has(name.value)) return;
			value[name.value] = initial(schema.additionalProperties, root, depth + 1);
			add(name.value, schema.additionalProperties);
			name.value = '';
			changed();
		}))));
	}
	if (depth === 0 && !node.firstChild) node.append(hint('It describes no arguments.'));
	const order = new Map([...Object.keys(properties), ...others].map((name, i) => [name, i]));
	return { node, get: () => Object.fromEntries([...members]
		.sort(([a], [b]) => (order.get(a) ?? 1e9) - (order.get(b) ?? 1e9)).map(([name, member]) => [name, member.get()])) };
}

function arrayControl(schema, root, value, changed, label, depth) {
	let items = Array.isArray(value) ? [...value] : [];
	const node = tag('fieldset.array', tag('legend', label));
	let controls;
	const of = i => schema.prefixItems?.[i] ?? schema.items ?? {};
	const show = () => {
		controls = items.map((item, i) => control(of(i), root, item, changed, `${label} ${i + 1}`, depth + 1));
		const change = edit => () => root.act(() => {
			items = controls.map(item => item.get());
			edit();
			show();
			changed();
		});
		node.replaceChildren(node.firstElementChild, ...controls.map((item, i) => inRow(item.node,
			i > 0 && button('↑', change(() => items.splice(i - 1, 2, items[i], items[i - 1])), { label: `Move ${label} ${i + 1} up` }),
			button('✕', change(() => items.splice(i, 1)), { label: `Remove ${label} ${i + 1}` }))),
		button('Add', change(() => items.push(initial(of(items.length), root, depth + 1))), { label: `Add to ${label}` }));
	};
	show();
	return { node, get: () => controls.map(item => item.get()) };
}

function summary(schema) {
	const parts = [schema.format ?? (Array.isArray(schema.type) ? schema.type.join(' | ') : schema.type) ?? ''];
	for (const [key, sign] of [['minimum', '≥'], ['maximum', '≤'], ['minLength', 'length ≥'], ['maxLength', 'length ≤'], ['pattern', 'matches']]) {
		if (schema[key] !== undefined) parts.push(short(`${sign} ${schema[key]}`));
	}
	return parts.filter(Boolean).join(', ');
}

// form returns a form for a schema, with a field for its JSON: { node, text(), set(text) }. complete, if
// given, gets the input of each string. groups, each [title, names], fold those of their members that the
// value does not have.
export function form(schema, { value, complete, changed = () => {}, name = 'Arguments', groups = [] } = {}) {
	const root = new Document(schema ?? {});
	let model = value;
	try {
		model ??= initial(root.schema, root) ?? {};
	} catch { // the schema is none, or too large
		model = {};
	}
	let text = format(model);
	let current;
	const place = tag('div.form');
	const editor = element('textarea.json', { rows: '6', label: `${name} as JSON`, id: newID() });
	const note = status('p.hint');
	const fromForm = () => {
		model = current.get();
		text = format(model);
		editor.value = text;
		note.textContent = '';
		changed();
	};
	// act does what the user wants, with a new budget. If the schema is none or too large, the user
	// edits the JSON.
	const act = action => {
		root.left = budget;
		try {
			action();
		} catch (error) {
			root.left = Infinity;
			current = jsonControl(model, root, fromForm, 'arguments');
			place.replaceChildren(error instanceof RangeError ? hint(error.message) : '', current.node);
		}
	};
	Object.assign(root, { complete, act, groups }); // for the controls
	const show = () => act(() => {
		current = control(root.schema, root, model, fromForm, 'arguments', 0);
		place.replaceChildren(current.node);
	});
	editor.value = text;
	editor.addEventListener('input', () => {
		text = editor.value;
		try {
			model = parse(text);
			note.textContent = '';
			show();
		} catch (error) {
			note.textContent = `This is not JSON: ${error.message}`;
		}
		changed();
	});
	show();
	const json = tag('details.as-json', tag('summary', 'JSON'), editor, note);
	const node = tag('div.args', div(place, json));
	const size = new ResizeObserver(() => { // where there is room, the JSON stands beside the form
		if (node.clientWidth < 560) return;
		json.open = true;
		size.disconnect();
	});
	size.observe(node);
	return { node, text: () => text, model: () => model, set(next) {
		editor.value = next;
		editor.dispatchEvent(new Event('input'));
	} };
}
