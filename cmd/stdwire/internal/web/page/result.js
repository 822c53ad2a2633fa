// Results of calls: content of every kind, as text or as an element that cannot run scripts.
import * as api from './api.js';
import { attempt, bytes, copier, download, button, duration, element, problem, replace } from './dom.js';
import { format, long, parse, tree, view } from './json.js';

function decoded(base64, type) {
  const text = atob(base64);
  const data = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) data[i] = text.charCodeAt(i);
  return new Blob([data], { type });
}

const imageTypes = /^image\/(png|jpeg|gif|webp|avif|bmp|svg\+xml|x-icon)$/; // as an image, SVG has no script
const soundTypes = /^(audio|video)\/[a-z0-9.+-]+$/;

// binary shows base64 data of a type.
function binary(base64, type, name) {
  let blob;
  try {
    blob = decoded(base64, imageTypes.test(type) || soundTypes.test(type) ? type : 'application/octet-stream');
  } catch {
    return problem({ code: 'invalid', message: `The data of type ${type} is not base64.` });
  }
  const save = button('Save', () => download(name ?? (type === 'application/pdf' ? 'result.pdf' : 'result'), blob));
  const what = element('p', { class: 'muted' }, `${type || 'unknown type'}, ${bytes(blob.size)} `, save);
  const url = () => URL.createObjectURL(blob);
  if (imageTypes.test(type)) return element('figure', {}, element('img', { src: url(), alt: `Image of type ${type}` }), what);
  if (type.startsWith('audio/')) return element('figure', {}, element('audio', { src: url(), controls: true }), what);
  if (type.startsWith('video/')) return element('figure', {}, element('video', { src: url(), controls: true }), what);
  if (/^text\/html\b/.test(type)) return element('div', {}, html(new TextDecoder().decode(Uint8Array.from(atob(base64), c => c.charCodeAt(0)))), what);
  if (type === 'application/pdf') what.append(' Save the file to view it: the security policy of this page does not allow the PDF viewer.');
  return what;
}

// html shows HTML as text, or, after a click, in a frame of the sandbox that runs no scripts and loads
// nothing from other servers.
function html(text) {
  const place = element('div');
  const show = () => attempt(place, async () => {
    const { address } = await api.post('previews', { html: text });
    replace(place, element('iframe', { class: 'app app-border', title: 'Preview', sandbox: '', src: address }));
  });
  return element('div', {}, button('Preview', show, { title: 'Without scripts, and without files of other servers' }), place, long(text, { class: 'text' }));
}

function textBlock(text) {
  const start = text.trimStart()[0];
  if ((start === '{' || start === '[') && text.length < 2_000_000) {
    try {
      return view(parse(text));
    } catch { /* it is text */ }
  }
  return long(text, { class: 'text' });
}

// resource returns the contents of a resource.
export function resource(content, server) {
  return element('div', { class: 'resource' }, element('p', {}, element('a', { href: readLink(server, content.uri) }, content.uri),
    ' ', element('span', { class: 'muted' }, content.mimeType ?? '')),
  content.blob !== undefined ? binary(content.blob, content.mimeType ?? '', content.uri?.split('/').pop()) : /^text\/html\b/.test(content.mimeType) ? html(content.text ?? '') : textBlock(content.text ?? ''));
}

export const readLink = (server, uri) => `#/resources/${encodeURIComponent(server)}/${encodeURIComponent(uri)}`;

// content returns a block of content.
export function content(block, server) {
  switch (block?.type) {
    case 'text': return textBlock(String(block.text));
    case 'image': case 'audio': return binary(String(block.data), String(block.mimeType));
    case 'resource': return resource(block.resource ?? {}, server);
    case 'resource_link': return element('p', {}, element('a', { href: readLink(server, block.uri) }, block.title ?? block.name ?? block.uri),
      ' ', element('span', { class: 'muted' }, [block.mimeType, block.size !== undefined && bytes(block.size)].filter(Boolean).join(', ')),
      block.description && element('span', { class: 'hint' }, ' ' + block.description));
    default: return tree(block);
  }
}

const blocks = (list, server) => list.map(block => element('li', {}, content(block, server),
  block?.annotations && element('p', { class: 'muted' }, JSON.stringify(block.annotations))));

// result shows the result or error of a call.
export function result(call) {
  const server = call.request.server;
  const parts = [];
  const failed = call.error !== undefined || call.result?.isError === true;
  parts.push(element('p', { class: failed ? 'outcome bad' : 'outcome good' },
    failed ? (call.error ? 'The call failed' : 'The tool reports an error') : 'Done', ` after ${duration(call.ms)}`));
  if (call.error) parts.push(problem(call.error));
  if (call.mismatch) {
    parts.push(element('div', { class: 'problem', role: 'alert' }, element('strong', {}, 'The result does not match the outputSchema: '), call.mismatch));
  }
  const value = call.result;
  if (value !== undefined) {
    if (value.structuredContent !== undefined) parts.push(element('h4', {}, 'Structured content'), view(value.structuredContent));
    if (Array.isArray(value.content)) {
      parts.push(element('h4', {}, 'Content'), value.content.length === 0 ? element('p', { class: 'muted' }, 'none')
        : element('ol', { class: 'blocks' }, blocks(value.content, server)));
    }
    if (Array.isArray(value.contents)) parts.push(element('ol', { class: 'blocks' }, value.contents.map(contents => element('li', {}, resource(contents, server)))));
    if (Array.isArray(value.messages)) {
      parts.push(element('ol', { class: 'blocks' }, value.messages.map(message => element('li', {},
        element('strong', {}, message.role), [message.content].flat().map(block => content(block, server))))));
    }
    if (!value.content && !value.contents && !value.messages && value.structuredContent === undefined) parts.push(view(value));
    if (value._meta) parts.push(element('details', {}, element('summary', {}, '_meta'), tree(value._meta)));
    const raw = element('details', {}, element('summary', {}, 'The whole result as JSON'));
    raw.addEventListener('toggle', () => {
      if (raw.childElementCount === 1) raw.append(long(format(value)), copier(() => format(value)));
    });
    parts.push(raw);
  }
  return element('div', { class: 'result' }, parts);
}

// progress shows the progress of a call.
export function progress(call) {
  const p = call.progress;
  return element('div', { class: 'progress', role: 'status' },
    element('progress', { value: p?.total ? p.progress : false, max: p?.total || false, 'aria-label': 'Progress' }),
    p ? ` ${p.progress}${p.total ? ` of ${p.total}` : ''} ${p.message ?? ''}` : ' waiting',
    call.task && element('p', {}, `task ${call.task.taskId}: ${call.task.status} ${call.task.statusMessage ?? ''}`));
}
