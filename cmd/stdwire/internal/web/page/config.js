// The configuration files: the user adds, changes, copies, moves, removes and imports servers, and
// sees each change before it is written. The page has "…1" and so on in place of secrets.
import * as api from './api.js';
import { append, attempt, button, download, element, field, replace, select } from './dom.js';
import { form } from './form.js';

let known;

// configuration returns the files that can be changed: { off, files, applications }.
export const configuration = async () => { known ??= await api.get('config'); return known; };

const string = description => ({ type: 'string', description });
const strings = description => ({ type: 'array', items: { type: 'string' }, description });
const named = description => ({ type: 'object', additionalProperties: { type: 'string' }, description });
const settings = {
  command: string('The program of a server on stdio.'), args: strings('Its arguments.'),
  env: named('Environment variables; ${NAME} is the value of a variable of stdwire.'), cwd: string('The working directory.'),
  url: string('The address of a server over HTTP.'), headers: named('Headers of each request to the URL.'),
  oauth: { type: 'object', description: 'The authorization of requests to the URL, if the server’s metadata do not suffice.', properties: {
    clientId: string('The id of a client that is registered at the authorization server; without it the client registers itself.'),
    clientSecret: { ...string('A variable with the secret of that client, such as ${NAME}. The issuer is then required.'), examples: ['${NAME}'] },
    issuer: string('The URL of the authorization server to use, whatever the server names. Only this one receives the secret.'),
    scope: string('The requested scopes, separated by spaces.'),
    grantType: { enum: ['authorization_code', 'client_credentials'], description: 'client_credentials: the client authenticates with its secret, without a user.' },
    redirectUri: string('The http: URL on this machine to which the browser is redirected; the default is a free port.'),
    allowPrivate: { type: 'boolean', description: 'Allow an authorization server with a private address for a server with a public one.' },
  } },
  era: { enum: ['auto', 'modern', 'legacy'], description: 'The era of the protocol.' },
  startTimeoutMs: { type: 'integer', description: 'The time limit of the start, in milliseconds; 0 means none.' },
  callTimeoutMs: { type: 'integer', description: 'The time limit of a call, in milliseconds; 0 means none.' },
  disabled: { type: 'boolean', description: 'The server is not started.' },
  tools: { type: 'object', properties: { allow: strings('Patterns of tools that are offered.'), deny: strings('Patterns of tools that are not offered.') } },
};

// suited returns the properties that a form can edit. A setting whose type an application has
// changed is edited as JSON.
const suited = (value, all = settings) => ({ type: 'object', additionalProperties: true, properties: Object.fromEntries(Object.entries(all)
  .filter(([name, { type }]) => !(name in value) || !type || type === 'integer' || type === (Array.isArray(value[name]) ? 'array' : typeof value[name]))
  .map(([name, setting]) => [name, setting.properties ? { ...setting, ...suited(value[name] ?? {}, setting.properties) } : setting])) });

// change opens a dialog in which the user makes a change, sees its diff and writes it. wanted returns
// the change, or nothing if there is none yet.
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
        element('p', { class: 'hint' }, '“…” stands for values that may be secret. The file keeps them.'),
        button('Write the file', write, { class: 'primary' })]);
  });
  append(dialog, [element('h2', {}, title), content, element('div', { class: 'row' },
    button('Show the change', show), button('Cancel', () => dialog.close())), outcome]);
  document.body.append(dialog);
  dialog.showModal();
  return { show, outcome };
}

const fileField = (files, chosen, onchange) => field('File', select(files.map(file => [file.path,
  file.project ? `${file.path} (of the project: must be trusted)` : file.path]), chosen, onchange));

const nameField = value => element('input', { type: 'text', value, maxlength: '32', spellcheck: 'false', required: true });

// add adds a server.
export const add = async () => {
  const { files } = await configuration();
  let file = files.at(-1).path;
  const name = nameField('');
  const inputs = form(suited({}), { value: { command: '' }, name: 'Definition' });
  change('Add a server', [field('Name', name), fileField(files, file, to => { file = to; }), inputs.node],
    () => ({ file, server: name.value, definition: inputs.text() }));
};

async function define(title, id, from) {
  const defined = await api.post('config/definition', { server: from });
  const value = JSON.parse(defined.definition);
  const name = nameField(id);
  const inputs = form(suited(value), { value, name: 'Definition' });
  change(title, [id !== from && field('Name', name), element('p', { class: 'muted' }, defined.file),
    defined.definition.includes('"…') && element('p', { class: 'hint' }, '“…1” and so on stand for hidden values. Leave them to keep the values, or write another value to replace one.'),
    inputs.node], () => ({ file: defined.file, digest: defined.digest, server: id === from ? id : name.value, from, definition: inputs.text() }));
}

export const edit = id => define(`Change ${id}`, id, id);
export const clone = id => define(`Copy ${id}`, `${id.slice(0, 27)}-copy`, id);

export async function remove(id, file) {
  await change(`Remove ${id}`, element('p', { class: 'muted' }, file), () => ({ file, server: id, remove: true })).show();
}

// move makes two servers change places.
export async function move(id, other, file) {
  await change(`Move ${id}`, element('p', { class: 'muted' }, file), () => ({ file, server: id, swap: other })).show();
}

// importing adds the servers of an application's file, a registry's file or a pasted text.
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
    chosen = found.map(server => [server, element('input', { type: 'checkbox', checked: !server.problem, disabled: Boolean(server.problem) })]);
    replace(list, found.length === 0 && element('p', {}, 'The file has no servers.'), chosen.map(([server, box]) => element('div', {}, element('label', {}, box, ` ${server.id} `,
      element('span', { class: 'muted' }, server.kind)), server.problem && element('p', { class: 'bad' }, server.problem),
    server.notes.map(note => element('p', { class: 'hint' }, note)), server.definition && element('code', {}, server.definition))));
  });
  const own = element('div', {}, field('A file, such as mcp.json or server.json', upload), field('or its text', text));
  change('Import servers', [fileField(files, into, to => { into = to; }),
    field('From', select([['', 'a file or text'], ...applications.map(file => [file.path, `${file.title}: ${file.path}`])], '', to => {
      application = to;
      own.hidden = to !== '';
    })), own, button('List its servers', look), list, element('label', { class: 'row' }, again, 'Replace servers that have the same name')],
  () => ({ file: into, import: { ...source(), replace: again.checked, servers: chosen.filter(([, box]) => box.checked).map(([server]) => server.id) } }));
}

export const exporting = async () => {
  const { text } = await api.post('config/export');
  download('mcp.json', new Blob([text], { type: 'application/json' }));
};
