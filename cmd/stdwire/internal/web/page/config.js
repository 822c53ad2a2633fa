// The configuration files: servers are added, changed, copied, removed and imported, and each change
// is shown before it is written. Secrets stay where they are; the page has "…1" and so on for them.
import * as api from './api.js';
import { append, attempt, button, download, element, field, replace, select } from './dom.js';
import { form } from './form.js';

let known;

// configuration returns what can be changed: { off, files, applications }.
export const configuration = async () => { known ??= await api.get('config'); return known; };

const string = description => ({ type: 'string', description });
const strings = description => ({ type: 'array', items: { type: 'string' }, description });
const named = description => ({ type: 'object', additionalProperties: { type: 'string' }, description });
const settings = {
  command: string('The program of a server on stdio.'), args: strings('Its arguments.'),
  env: named('Environment variables; ${NAME} is one of stdwire’s own.'), cwd: string('The directory in which it starts.'),
  url: string('The address of a server over HTTP.'), headers: named('Headers of each request to the URL.'),
  oauth: { type: 'object', description: 'The authorization of requests to the URL, if the server does not say all itself.', properties: {
    clientId: string('The id of a client that the authorization server knows; without it the client registers itself.'),
    clientSecret: { ...string('The variable with the secret of that client, such as ${NAME}. It requires the issuer.'), examples: ['${NAME}'] },
    issuer: string('The URL of the authorization server that has registered the client, and may receive its secret.'),
    scope: string('The scopes to ask for, separated by spaces.'),
    grantType: { enum: ['authorization_code', 'client_credentials'], description: 'client_credentials: the client authenticates with its secret, without a user.' },
    redirectUri: string('The http: URL of this machine to which the browser returns; without it any port.'),
    allowPrivate: { type: 'boolean', description: 'A server outside of a private network may have an authorization server within it.' },
  } },
  era: { enum: ['auto', 'modern', 'legacy'], description: 'The protocol.' },
  startTimeoutMs: { type: 'integer', description: 'The time for the start, in milliseconds; 0 is no limit.' },
  callTimeoutMs: { type: 'integer', description: 'The time for a call, in milliseconds; 0 is no limit.' },
  disabled: { type: 'boolean', description: 'It is not started.' },
  tools: { type: 'object', properties: { allow: strings('Patterns of tools that are offered.'), deny: strings('Patterns of those that are not.') } },
};

// suited leaves out the settings that an application writes in a way of its own: they are JSON.
const suited = (value, all = settings) => ({ type: 'object', additionalProperties: true, properties: Object.fromEntries(Object.entries(all)
  .filter(([name, { type }]) => !(name in value) || !type || type === 'integer' || type === (Array.isArray(value[name]) ? 'array' : typeof value[name]))
  .map(([name, one]) => [name, one.properties ? { ...one, ...suited(value[name] ?? {}, one.properties) } : one])) });

// definitionOf returns the definition of a form. The secret of a client is that of a variable.
function definitionOf(inputs) {
  const secret = inputs.model()?.oauth?.clientSecret;
  if (secret && !/^(\$\{[^}:]+(:\w+)?\}|…\d+)$/.test(secret)) {
    throw new api.Problem({ code: 'config', message: 'clientSecret is no variable: the secret would be in the file for all who read it', hint: 'write ${NAME}, and set the variable NAME where stdwire runs' });
  }
  return inputs.text();
}

// change is a dialog in which a change is made, shown and written. wanted returns the change, or
// nothing as long as there is none.
function change(title, content, wanted) {
  const outcome = element('div', { 'aria-live': 'polite' });
  const dialog = element('dialog', { class: 'wide', 'aria-label': title, 'data-testid': 'change', onclose: () => dialog.remove() });
  const show = () => attempt(outcome, async () => {
    const what = wanted();
    const shown = await api.post('config/change', what);
    const write = () => attempt(outcome, async () => {
      await api.post('config/change', { ...what, digest: shown.digest, write: true });
      dialog.close();
    });
    replace(outcome, shown.notes.map(note => element('p', { class: 'warn' }, note)),
      shown.diff === '' ? element('p', {}, 'Nothing changes.') : [
        element('pre', { class: 'code', tabindex: '0', 'aria-label': 'What changes' }, shown.diff.split('\n').map(line => element('span', {
          class: line.startsWith('+') ? 'new' : line.startsWith('-') ? 'old' : '' }, line + '\n'))),
        element('p', { class: 'hint' }, 'Values that may be secret are “…” here, and are written as they are.'),
        button('Write the file', write, { class: 'primary' })]);
  });
  append(dialog, [element('h2', {}, title), content, element('div', { class: 'row' },
    button('Show the change', show), button('Cancel', () => dialog.close())), outcome]);
  document.body.append(dialog);
  dialog.showModal();
  return { show, outcome };
}

const fileField = (files, chosen, onchange) => field('File', select(files.map(file => [file.path,
  file.project ? `${file.path} (of the project: has to be trusted)` : file.path]), chosen, onchange));

const nameField = value => element('input', { type: 'text', value, maxlength: '32', spellcheck: 'false', required: true });

// add adds a server, and copy one with the definition and the secrets of another.
export const add = async () => {
  const { files } = await configuration();
  let file = files.at(-1).path;
  const name = nameField('');
  const inputs = form(suited({}), { value: { command: '' }, name: 'Definition' });
  change('Add a server', [field('Name', name), fileField(files, file, to => { file = to; }), inputs.node],
    () => ({ file, server: name.value, definition: definitionOf(inputs) }));
};

async function define(title, id, from) {
  const defined = await api.post('config/definition', { server: from });
  const value = JSON.parse(defined.definition);
  const name = nameField(id);
  const inputs = form(suited(value), { value, name: 'Definition' });
  change(title, [id !== from && field('Name', name), element('p', { class: 'muted' }, defined.file),
    defined.definition.includes('"…') && element('p', { class: 'hint' }, '“…1” and so on stand for values that are not shown. They are kept where you leave them; write another value to replace one.'),
    inputs.node], () => ({ file: defined.file, digest: defined.digest, server: id === from ? id : name.value, from, definition: definitionOf(inputs) }));
}

export const edit = id => define(`Change ${id}`, id, id);
export const clone = id => define(`Copy ${id}`, `${id.slice(0, 27)}-copy`, id);

export async function remove(id, file) {
  await change(`Remove ${id}`, element('p', { class: 'muted' }, file), () => ({ file, server: id, remove: true })).show();
}

// move exchanges the places of two servers.
export async function move(id, other, file) {
  await change(`Move ${id}`, element('p', { class: 'muted' }, file), () => ({ file, server: id, swap: other })).show();
}

// importing adds servers of another file: of an application, of a registry, or pasted.
export async function importing() {
  const { files, applications } = await configuration();
  let into = files.at(-1).path;
  let application = '';
  let chosen = [];
  const text = element('textarea', { rows: '4', class: 'json', spellcheck: 'false' });
  const upload = element('input', { type: 'file', async onchange() {
    if (upload.files[0]) text.value = await upload.files[0].text();
    await look();
  } });
  const again = element('input', { type: 'checkbox' });
  const list = element('div', { 'aria-live': 'polite' });
  const source = () => ({ into, application, name: upload.files[0]?.name ?? 'the text', text: application ? '' : text.value });
  const look = () => attempt(list, async () => {
    const found = await api.post('config/import', source());
    chosen = found.map(one => [one, element('input', { type: 'checkbox', checked: !one.problem, disabled: Boolean(one.problem) })]);
    replace(list, found.length === 0 && element('p', {}, 'It has no servers.'), chosen.map(([one, box]) => element('div', {}, element('label', {}, box, ` ${one.id} `,
      element('span', { class: 'muted' }, one.kind)), one.problem && element('p', { class: 'bad' }, one.problem),
    one.notes.map(note => element('p', { class: 'hint' }, note)), one.definition && element('code', {}, one.definition))));
  });
  const own = element('div', {}, field('A file, such as mcp.json or server.json', upload), field('or its text', text));
  change('Import servers', [fileField(files, into, to => { into = to; }),
    field('From', select([['', 'a file or text'], ...applications.map(one => [one.path, `${one.title}: ${one.path}`])], '', to => {
      application = to;
      own.hidden = to !== '';
    })), own, button('List its servers', look), list, element('label', { class: 'row' }, again, 'Replace servers that are there')],
  () => ({ file: into, import: { ...source(), replace: again.checked, servers: chosen.filter(([, box]) => box.checked).map(([one]) => one.id) } }));
}

export const exporting = async () => {
  const { text } = await api.post('config/export');
  download('mcp.json', new Blob([text], { type: 'application/json' }));
};
