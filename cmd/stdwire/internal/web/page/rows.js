// The list of messages. Only visible rows have elements.
import { bytes, duration, element } from './dom.js';
import { family } from './chart.js';
import { failed, find, normal } from './messages.js';
import { on } from './store.js';

const rowHeight = () => Number.parseFloat(getComputedStyle(document.documentElement).getPropertyValue('--row'));
const beyond = 10; // rows above and below

export function rows({ select }) {
  const space = element('div', { class: 'space', role: 'presentation' });
  const node = element('div', { class: 'rows', role: 'listbox', tabindex: '0', 'aria-label': 'Messages' }, space);
  let shown = [];
  let zero = 0;
  let selected;
  let follow = true;
  let dirty = false;
  let height = rowHeight();
  const cells = new Map(); // index → row

  function row(index) {
    const message = shown[index];
    const response = message.kind === 'response';
    const text = [((message.t - zero) / 1000).toFixed(3), message.from === 'client' ? '→' : '←', message.lane,
      response ? `↳ ${message.method ?? '?'}` : message.method ?? message.kind, message.about ?? '',
      response && normal(message) || message.failed || (response ? 'ok' : message.kind === 'request' && !message.response ? '…' : ''),
      response ? duration(message.ms) : '', bytes(message.size)];
    const line = element('div', { class: `message ${failed(message) ? 'bad' : normal(message) ? 'muted' : ''} ${family(message.method)}`, role: 'option', id: `message-${message.n}`,
      'aria-posinset': index + 1, 'aria-setsize': shown.length, 'aria-selected': String(message === selected),
      onclick: () => select(message) }, text.map((part, i) => element('span', { class: `c${i}` }, part)));
    line.style.top = `${index * height}px`;
    if (message.parent || message.request?.parent) line.classList.add('within');
    return line;
  }

  function render() {
    dirty = false;
    space.style.height = `${shown.length * height}px`;
    if (follow) node.scrollTop = node.scrollHeight;
    const from = Math.max(Math.floor(node.scrollTop / height) - beyond, 0);
    const to = Math.min(Math.ceil((node.scrollTop + node.clientHeight) / height) + beyond, shown.length);
    for (const [index, line] of cells) {
      if (index < from || index >= to || line.dataset.n !== String(shown[index]?.n) || line.dataset.state !== stateOf(shown[index])) {
        line.remove();
        cells.delete(index);
      }
    }
    for (let index = from; index < to; index++) {
      if (cells.has(index)) continue;
      const line = row(index);
      line.dataset.n = shown[index].n;
      line.dataset.state = stateOf(shown[index]);
      cells.set(index, line);
      space.append(line);
    }
    if (selected && cells.size > 0) {
      const visible = document.getElementById(`message-${selected.n}`);
      if (visible) node.setAttribute('aria-activedescendant', visible.id);
      else node.removeAttribute('aria-activedescendant');
    }
  }

  const stateOf = message => `${message?.response ? 1 : 0}${message === selected ? 1 : 0}${message && failed(message)}`;

  function redraw() {
    if (!dirty) requestAnimationFrame(render);
    dirty = true;
  }

  const at = event => find(Number(event.target.closest('.message')?.dataset.n));
  // a row replaced under the pointer gets no click
  node.addEventListener('pointerup', event => { if (event.button === 0 && at(event)) select(at(event)); });
  node.addEventListener('pointerover', event => {
    const message = at(event);
    const pair = [message, message?.request, message?.response].filter(Boolean).map(one => String(one.n));
    for (const line of cells.values()) line.classList.toggle('pair', pair.length > 1 && pair.includes(line.dataset.n));
  });
  node.addEventListener('scroll', () => {
    follow = node.scrollTop + node.clientHeight >= node.scrollHeight - height;
    redraw();
  });
  new ResizeObserver(redraw).observe(node);
  const endDensity = on('density', () => {
    height = rowHeight();
    for (const line of cells.values()) line.remove();
    cells.clear();
    redraw();
  });

  function choose(message) {
    selected = message;
    const index = shown.indexOf(message);
    if (index >= 0) {
      follow = false;
      const top = index * height;
      if (top < node.scrollTop) node.scrollTop = top;
      else if (top + height > node.scrollTop + node.clientHeight) node.scrollTop = top + height - node.clientHeight;
    }
    redraw();
  }

  const move = index => {
    if (shown.length === 0) return;
    choose(shown[Math.min(Math.max(index, 0), shown.length - 1)]); // the next key counts from here
    select(selected);
  };
  node.addEventListener('keydown', event => {
    const now = shown.indexOf(selected);
    const page = Math.floor(node.clientHeight / height) - 1;
    const to = { ArrowDown: now + 1, j: now + 1, ArrowUp: now < 0 ? shown.length - 1 : now - 1, k: now - 1, PageDown: now + page, PageUp: now - page,
      Home: 0, End: shown.length - 1 }[event.key];
    if (to === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    move(to);
  });

  return { node, redraw, choose, close: endDensity,
    set(list, start) {
      shown = list;
      zero = start;
      redraw();
    },
    follow() {
      follow = true;
      redraw();
    } };
}
