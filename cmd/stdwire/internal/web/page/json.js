// JSON. Numbers that JavaScript cannot represent keep their text. Large values are shown in parts.
import { button, element, replace } from './dom.js';

// parse is JSON.parse, except that a number that JavaScript would write differently keeps its text.
export function parse(text) {
  return JSON.parse(text, (_, value, context) => typeof value === 'number' && context?.source !== undefined &&
    JSON.rawJSON && String(value) !== context.source && !Number.isSafeInteger(value)
    ? JSON.rawJSON(context.source) : value);
}

export const isRaw = value => JSON.isRawJSON?.(value) ?? false;

export const format = value => JSON.stringify(value, null, 2) ?? '';

const scalar = value => value === null || typeof value !== 'object' || isRaw(value);

const part = 100; // members of a tree or rows of a table that are added at a time
const longest = 20_000; // characters of a text that are shown at first

// long returns an element with a text, of which only the beginning is shown at first.
export function long(text, attributes = {}) {
  const node = element('pre', attributes, text.slice(0, longest));
  if (text.length <= longest) return node;
  const more = button(`Show all of ${text.length.toLocaleString()} characters`, () => {
    node.textContent = text;
    more.remove();
  });
  return element('div', {}, node, more);
}

function scalarNode(value) {
  const text = isRaw(value) ? value.rawJSON : JSON.stringify(value);
  const kind = value === null ? 'null' : isRaw(value) ? 'number' : typeof value;
  if (text.length <= 2000) return element('span', { class: 'json-' + kind }, text);
  const node = element('span', { class: 'json-' + kind }, text.slice(0, 2000) + '…');
  const more = button(`${text.length.toLocaleString()} characters`, () => {
    node.textContent = text;
    more.remove();
  });
  return element('span', {}, node, ' ', more);
}

// tree returns a value as a tree. The nodes of a branch are created when it is opened.
export function tree(value, depth = 0) {
  if (scalar(value)) return scalarNode(value);
  const entries = Array.isArray(value) ? value.map((item, i) => [i, item]) : Object.entries(value);
  const list = element('ul', { class: 'tree' });
  let shown = 0;
  const more = () => {
    for (const [key, item] of entries.slice(shown, shown + part)) {
      const name = element('span', { class: 'json-key' }, String(key) + ': ');
      list.append(element('li', {}, scalar(item) ? [name, scalarNode(item)] : branch(name, item, depth + 1)));
    }
    shown += part;
    if (shown < entries.length) {
      const next = element('li', {}, button(`${entries.length - shown} more`, () => { next.remove(); more(); }));
      list.append(next);
    }
  };
  more();
  return list;
}

function branch(name, value, depth) {
  const size = Array.isArray(value) ? `[${value.length}]` : `{${Object.keys(value).length}}`;
  const open = depth < 3 && JSON.stringify(value).length < 2000;
  const node = element('details', { open }, element('summary', {}, name, element('span', { class: 'muted' }, size)));
  const fill = () => { if (node.childElementCount < 2) node.append(tree(value, depth)); };
  if (open) fill();
  node.addEventListener('toggle', fill);
  return node;
}

// isTable reports whether a value is a list of objects.
export const isTable = value => Array.isArray(value) && value.length > 0 &&
  value.every(row => !scalar(row) && !Array.isArray(row));

// table returns a list of objects as a table.
export function table(rows) {
  const names = [...new Set(rows.slice(0, 1000).flatMap(row => Object.keys(row)))].slice(0, 50);
  const body = element('tbody');
  let shown = 0;
  const rest = element('p');
  const more = () => {
    for (const row of rows.slice(shown, shown + part)) {
      body.append(element('tr', {}, names.map(name => element('td', {},
        row[name] === undefined ? '' : scalar(row[name]) ? scalarNode(row[name]) : tree(row[name])))));
    }
    shown += part;
    replace(rest, shown < rows.length && button(`${rows.length - shown} more rows`, more));
  };
  more();
  return element('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'Table' },
    element('table', {}, element('thead', {}, element('tr', {}, names.map(name => element('th', { scope: 'col' }, name)))),
      body), rest);
}

// view returns a value as a tree or table, with a switch to its text.
export function view(value) {
  const place = element('div');
  const kinds = [['tree', 'Tree'], ['text', 'Text']];
  const rows = isTable(value) ? value
    : !scalar(value) && !Array.isArray(value) && Object.values(value).length === 1 && isTable(Object.values(value)[0])
      ? Object.values(value)[0] : null;
  if (rows) kinds.unshift(['table', 'Table']);
  const show = kind => replace(place, kind === 'table' ? table(rows) : kind === 'tree' ? tree(value) : long(format(value)));
  show(kinds[0][0]);
  return element('div', {}, tabs(kinds, kinds[0][0], show, 'How to show it'), place);
}

// tabs returns a row of buttons, of which one at a time is pressed.
export function tabs(kinds, chosen, show, label) {
  const group = element('div', { class: 'tabs', role: 'group', 'aria-label': label });
  for (const [kind, text] of kinds) {
    group.append(button(text, event => {
      for (const other of group.children) other.setAttribute('aria-pressed', other === event.currentTarget);
      show(kind);
    }, { 'aria-pressed': String(kind === chosen), 'data-kind': kind }));
  }
  return group;
}

// diff returns the differences that the API found: the spans that differ, with invisible and
// deceptive characters spelled out, and the whole values.
export function diff(lines) {
  if (!lines?.length) return element('p', { class: 'muted' }, 'There are no differences.');
  return element('dl', { class: 'diff' }, lines.map(line => [
    element('dt', {}, line.path || '(all of it)'),
    side('old', '− ', line.old, line.oldText),
    side('new', '+ ', line.new, line.newText),
  ]));
}

function side(name, sign, value, spans) {
  if (value === undefined) return '';
  const whole = visible(format(value));
  return element('dd', { class: name }, element('span', { class: 'sign' }, sign), spans ?? whole,
    spans?.includes('…') && element('details', {}, element('summary', {}, 'All of it'), whole));
}

// visible spells out invisible characters, and white space that is no space or line end.
const visible = text => text.replace(/[^\S\n ]|\p{C}|\p{Zl}|\p{Zp}|\p{Variation_Selector}|[\u115f\u1160\u3164\uffa0\u2800\u17b4\u17b5\u034f]/gu,
  c => c === '\n' ? c : `\\u{${c.codePointAt(0).toString(16)}}`);
