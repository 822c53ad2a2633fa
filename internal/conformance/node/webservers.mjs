// A user who changes servers on the page of stdwire web, in a browser. The argument is that of web.mjs.
import { readdir, readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { chromium } from 'playwright-core';

const given = JSON.parse(process.argv[2]);
const browser = await chromium.launch({ executablePath: given.chromium, args: ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic',
  '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync', '--disable-dev-shm-usage'] });
const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, acceptDownloads: true, reducedMotion: 'reduce' }); // axe must not see colours half-way
const page = await context.newPage();
page.setDefaultTimeout(60_000);
const seen = { errors: [], bodies: [] };
page.on('pageerror', error => seen.errors.push(error.message));
const told = []; // what the page is told, which has no secret
page.on('response', async response => {
  if (!new URL(response.url()).pathname.startsWith('/api/') || response.url().endsWith('/changes')) return;
  const text = await response.text().catch(() => '');
  told.push(text);
  if (text.includes(given.secret)) seen.bodies.push(`${response.url()}: ${text}`);
});

const dialog = page.getByTestId('change');
const card = id => page.getByTestId(`server-${id}`);
const shown = () => dialog.getByLabel('What changes').waitFor(); // the change, a moment after it was entered
const write = async (does = /config\.json$/) => {
  await shown();
  const diff = await dialog.getByLabel('What changes').innerText();
  await dialog.getByRole('button', { name: does }).click();
  await dialog.waitFor({ state: 'detached' });
  return diff;
};
// choose selects an action in the menu of a server.
const choose = async (id, action) => {
  await card(id).getByRole('button', { name: `More for ${id}` }).click();
  await card(id).getByRole('menuitem', { name: action }).click();
};
const box = page.getByLabel('Command line, URL or JSON');
// enter puts a text into the box for a new server.
const enter = async text => {
  await page.getByRole('button', { name: 'Add server' }).click();
  await box.fill(text);
  await page.getByRole('button', { name: 'Connect' }).click();
  await dialog.waitFor();
};
// unfold shows a group of the fields that a server does not have.
const unfold = group => dialog.locator('summary', { hasText: group }).click();
const content = () => readFile(given.file, 'utf8');

// examine looks whether what is shown is usable at all sizes, and by a screen reader.
async function examine(name) {
  const axe = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
  const session = await context.newCDPSession(page);
  await session.send('Runtime.evaluate', { expression: axe });
  seen.findings ??= [];
  for (const [width, theme] of [[1280, 'light'], [1280, 'dark'], [360, 'light'], [360, 'dark']]) {
    await page.setViewportSize({ width, height: 800 });
    await page.evaluate(one => { document.documentElement.dataset.theme = one; }, theme);
    const { result } = await session.send('Runtime.evaluate', { awaitPromise: true, returnByValue: true,
      expression: `axe.run(document, { resultTypes: ['violations'] }).then(r => r.violations.filter(v => ['serious', 'critical'].includes(v.impact)).map(v => v.id + ': ' + v.nodes.slice(0, 3).map(n => n.html.slice(0, 160)).join(' | ')))` });
    for (const finding of result.value) seen.findings.push(`${name} ${width} ${theme}: ${finding}`);
    const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    if (over > 0) seen.findings.push(`${name} ${width}: ${over} px too wide`);
    if (given.shots) await page.screenshot({ path: `${given.shots}/servers-${name}-${width}-${theme}.png` });
  }
  await page.setViewportSize({ width: 1280, height: 900 });
}

const scenarios = {
  async change() {
    await page.goto(given.url);
    await enter(given.command[0]);
    await dialog.getByLabel('Name', { exact: true }).fill('added');
    await unfold('Program');
    await unfold('Era');
    for (const [i, arg] of given.command.slice(1).entries()) {
      await dialog.getByRole('button', { name: 'Add to args' }).click();
      await dialog.getByLabel(`args ${i + 1}`, { exact: true }).fill(arg);
    }
    await dialog.getByRole('radiogroup', { name: 'era' }).getByText('legacy').click();
    if (given.shots) await page.screenshot({ path: `${given.shots}/servers-add.png` });
    seen.added = await write('Add to config.json');
    await card('added').getByRole('switch').click();
    await card('added').locator('.state-ready').waitFor();
    await card('added').locator('.stats').getByText('legacy').waitFor();

    await choose('one', 'Edit');
    seen.shown = await dialog.getByLabel('KEY', { exact: true }).inputValue();
    await dialog.getByLabel('command', { exact: true }).fill('elsewhere');
    await unfold('URL');
    await dialog.getByLabel('Name of a member of headers').waitFor();
    seen.edited = await write('Change one in config.json');
    seen.afterEdit = await content();
    await card('added').locator('.state-ready').waitFor(); // which was not changed

    await choose('one', 'Clone');
    seen.cloned = await write();
    await card('one-copy').waitFor();
    await choose('one', 'Remove');
    await write('Remove from config.json');
    await card('one').waitFor({ state: 'detached' });

    // what another program has written meanwhile is not lost
    await choose('one-copy', 'Edit');
    await dialog.getByLabel('command', { exact: true }).fill('third');
    await shown();
    const { writeFile } = await import('node:fs/promises');
    await writeFile(given.file, `${await content()}// theirs\n`);
    await dialog.getByRole('button', { name: /config\.json$/ }).click();
    seen.meanwhile = await dialog.locator('.problem').innerText();
    await dialog.getByRole('button', { name: 'Cancel' }).click();

    // the servers of a registry's file and of another application
    await enter(given.described);
    await dialog.getByText('requires ${input:API_KEY}').waitFor();
    await write();
    await card('weather').waitFor();
    await page.getByRole('button', { name: 'Add server' }).click();
    await page.getByText(given.cursor).waitFor();
    if (given.shots) await page.screenshot({ path: `${given.shots}/servers-sources.png` });
    await page.getByRole('button', { name: 'Import 1 of Cursor' }).click();
    await dialog.getByText('from-cursor').first().waitFor();
    seen.listed = await dialog.innerText();
    if (given.shots) await page.screenshot({ path: `${given.shots}/servers-import.png` });
    seen.imported = await write();
    await card('from-cursor').waitFor();

    const [file] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Export' }).click()]);
    seen.exported = await readFile(await file.path(), 'utf8');
    seen.content = await content();

    await choose('one-copy', 'Edit');
    await dialog.getByLabel('command', { exact: true }).fill('fourth');
    await shown();
    await examine('edit');
  },

  // A page without servers: those of other applications, an example, and a box that understands a file.
  async first() {
    await page.goto(given.url);
    await box.waitFor();
    await page.getByText(given.cursor).waitFor();
    seen.text = await page.locator('main').innerText();
    await examine('first');
    await page.getByRole('button', { name: 'config.json' }).click(); // what the page looks at
    await page.getByRole('menuitem').first().waitFor();
    seen.looksAt = await page.getByRole('menu').innerText();
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Connect' }).click();
    await page.locator('main .problem').waitFor();
    seen.refused = await page.locator('main .problem').innerText();
    await page.getByLabel('A file, such as').setInputFiles({ name: 'mcp.json', mimeType: 'application/json', buffer: Buffer.from('{"mcpServers": {"dropped": {"command": "x"}}}') });
    await dialog.getByText('dropped').first().waitFor();
    await write('Add 1 to config.json');
    await card('dropped').locator('.state-stopped').waitFor(); // an import starts nothing
    seen.stays = await page.evaluate(() => location.hash);
    await choose('dropped', 'Disable');
    await card('dropped').locator('.state-disabled').waitFor();
    await card('dropped').getByRole('switch').click();
    await card('dropped').locator('.state-failed, .state-waiting').waitFor(); // there is no program x
    await choose('dropped', 'Remove');
    await write('Remove from config.json');
    await box.waitFor();
    await page.getByRole('button', { name: 'Try it' }).click();
    await page.getByTestId('definitions').getByRole('link').first().waitFor();
    seen.example = await page.getByTestId('definitions').getByRole('link').count();
    await page.evaluate(() => { location.hash = '#/servers'; });
    await page.getByRole('button', { name: /^More for/ }).click();
    await page.getByRole('menuitem', { name: 'Forget' }).click();
    seen.clicks = 0;
    const clicked = () => { seen.clicks++; };
    await page.exposeFunction('clicked', clicked);
    await page.evaluate(() => { addEventListener('click', event => event.isTrusted && window.clicked(), true); });
    await box.click();
    await page.keyboard.type(given.command.map(word => `'${word}'`).join(' '));
    await page.keyboard.press('Enter');
    await dialog.getByLabel('Name', { exact: true }).fill('mine');
    await write('Add to config.json');
    await page.getByTestId('definitions').getByRole('link', { name: /^Echo/ }).waitFor(); // it runs
    seen.content = await content();
  },

  // Servers are moved with the keyboard.
  async move() {
    await page.goto(given.url);
    await card('three').getByRole('switch').click();
    await card('three').locator('.state-ready').waitFor();
    const press = async target => {
      await target.focus();
      await page.keyboard.press('Enter');
    };
    const order = () => page.locator('.card h3').allInnerTexts();
    const move = async (id, name) => {
      await press(page.getByRole('button', { name: `More for ${id}` }));
      await press(page.getByRole('menuitem', { name }));
      await dialog.getByLabel('What changes').waitFor();
      const diff = await dialog.getByLabel('What changes').innerText();
      await press(dialog.getByRole('button', { name: 'Move in config.json' }));
      await dialog.waitFor({ state: 'detached' });
      return diff;
    };
    seen.diff = await move('one', 'Move down');
    await page.waitForFunction(() => document.querySelector('.card h3')?.textContent === 'two');
    seen.focused = await page.evaluate(() => document.activeElement.getAttribute('aria-label'));
    await move('three', 'Move up');
    await page.waitForFunction(() => document.querySelectorAll('.card h3')[1].textContent === 'three');
    seen.order = await order();
    // a card takes the place of the one that it is dragged to
    await page.locator('.card h3', { hasText: 'two' }).dragTo(card('one'));
    await press(dialog.getByRole('button', { name: 'Move in config.json' }));
    await page.waitForFunction(() => document.querySelectorAll('.card h3')[2].textContent === 'two');
    seen.dragged = await order();
    await page.locator('.card h3', { hasText: 'two' }).dragTo(card('three'));
    await press(dialog.getByRole('button', { name: 'Move in config.json' }));
    await page.waitForFunction(() => document.querySelector('.card h3')?.textContent === 'two');
    await press(page.getByRole('button', { name: 'More for two' }));
    seen.ups = await page.getByRole('menuitem', { name: 'Move up' }).count(); // it is the first
    await page.keyboard.press('Escape');
    seen.ready = await card('three').locator('.state-ready').count();
    seen.content = await content();
    await examine('moved');
  },

  // The settings of a server that no file defines: roots, a command that answers for a model, headers.
  async settings() {
    await page.goto(given.url);
    await card(given.server).locator('.state-ready').waitFor();
    const show = async hash => { await page.evaluate(to => { location.hash = to; }, hash); };
    const call = async (name, fill) => {
      await show(`#/tools/${encodeURIComponent(given.server)}/${name}`);
      await page.locator('.detail h2', { hasText: fill.title ?? name }).waitFor();
      for (const [label, value] of Object.entries(fill.arguments ?? {})) await page.locator('.form').getByLabel(label, { exact: true }).fill(value);
      await page.getByRole('button', { name: 'Run', exact: true }).click();
      return page.getByTestId('call').locator('.result').innerText();
    };
    await show('#/servers');
    await choose(given.server, 'Roots');
    await page.getByLabel(/^Roots of .*: file/).fill('file:///x\nfile:///y\nfile:///z');
    await page.getByRole('button', { name: 'Set', exact: true }).click();
    await page.getByText('Requests of the server for roots are answered with these.').waitFor();
    seen.roots = await call('test_input_required_result_list_roots', {});
    seen.sampled = await call('test_sampling', {});
    await call('test_x_mcp_header', { arguments: { region: 'Zürich' } });
    await page.keyboard.press('Escape');
    await page.evaluate(() => document.activeElement.blur());
    await page.keyboard.press('m');
    await page.getByTestId('monitor').getByRole('link', { name: 'test_x_mcp_header' }).last().click();
    await page.locator('.message-panel .http summary').first().click();
    seen.headers = await page.locator('.message-panel .http').first().innerText();
    await page.reload();
    await page.getByTestId('monitor').getByRole('link').first().waitFor();
    await page.getByRole('button', { name: 'Latest messages beside the view' }).click();
    await page.getByTestId('monitor').waitFor({ state: 'hidden' });
  },

  // The client of a server that wants authorization is written in the form.
  async oauth() {
    await page.goto(given.url);
    await enter('https://new.example/mcp');
    const input = name => dialog.getByLabel(name, { exact: true });
    await input('Name').fill('new');
    await unfold('URL');
    await input('clientId').fill('me');
    await input('issuer').fill('https://issuer.example');
    await input('scope').fill('read write');
    await input('clientSecret').fill('typed-in');
    seen.refused = await dialog.locator('.problem').innerText();
    await input('clientSecret').fill('${CLIENT_SECRET}');
    await input('clientSecret').scrollIntoViewIfNeeded();
    await examine('oauth');
    seen.added = await write();
    await card('new').waitFor();

    await choose('docs', 'Edit');
    seen.shown = await Promise.all(['clientId', 'clientSecret', 'issuer'].map(name => input(name).inputValue()));
    seen.scopes = await input('scope, as JSON').inputValue(); // a list, which the form has no field for
    await input('clientId').fill('other');
    seen.edited = await write();
    seen.content = await content();
  },

  // A server that wants authorization: logging in and out.
  async authorize() {
    await page.goto(given.url);
    const one = card('docs'); // the only server, so the page has connected to it
    await one.locator('.problem').waitFor();
    seen.problem = await one.locator('.problem').innerText();
    await one.getByText('Authorization: not logged in').click();
    seen.command = await one.locator('.authorization code').innerText();
    await one.getByRole('button', { name: 'Log in' }).click();
    await one.getByRole('button', { name: 'Cancel the login' }).click();
    await one.getByRole('button', { name: 'Log in' }).click();
    const link = one.locator('.authorization a');
    await link.waitFor();
    await examine('login');
    const [popup] = await Promise.all([context.waitForEvent('page'), link.click()]);
    await popup.getByText('go back to the program').waitFor();
    await popup.close();
    await one.locator('.state-ready').waitFor();
    await one.getByText('Authorization: logged in').waitFor();
    seen.facts = await one.locator('.authorization').innerText();
    seen.problems = await one.locator('.problem').count();
    await examine('logged-in');
    const [file] = (await readdir(`${given.state}/stdwire/credentials`)).filter(name => name.endsWith('.json'));
    const { access_token: access, refresh_token: refresh } = JSON.parse(await readFile(`${given.state}/stdwire/credentials/${file}`, 'utf8'));
    seen.messages = await page.evaluate(async () => {
      const get = async path => (await fetch(`api/${path}`, { headers: { Authorization: `Bearer ${localStorage.getItem('stdwire key')}` } })).text();
      const { messages } = JSON.parse(await get('traffic?after=0'));
      for (const { n } of messages) await get(`traffic/${n}`);
      return messages.length;
    });
    seen.leaked = [access, refresh].filter(token => !token || told.some(text => text.includes(token))).length;
    await one.getByRole('button', { name: 'Log out' }).click();
    await one.locator('.state-stopped').waitFor();
    await one.getByText('Authorization: not logged in').waitFor();
    seen.left = (await readdir(`${given.state}/stdwire/credentials`)).filter(name => name.endsWith('.json')).length;
  },

  // Lists that change while another view is shown, and while they are.
  async lists() {
    await page.goto(given.url);
    const nav = name => page.locator('#views').getByRole('link', { name });
    const tools = page.getByTestId('definitions');
    const call = async name => {
      await page.evaluate(to => { location.hash = to; }, `#/tools/${given.server}/${name}`);
      await page.getByRole('button', { name: 'Run', exact: true }).click();
      await page.getByTestId('call').getByText('Changed', { exact: true }).waitFor();
    };
    await nav('Prompts').click();
    await tools.getByRole('link').first().waitFor();
    await call('test_trigger_prompt_change');
    await nav('Prompts changed').waitFor();
    seen.marked = await page.locator('#views').innerText();
    await examine('changed');
    await nav('Prompts changed').click();
    await tools.getByRole('link', { name: 'transient_prompt just added' }).waitFor();
    seen.fresh = await tools.locator('.badge').allInnerTexts();
    seen.unmarked = await page.locator('#views').innerText();
    await examine('added');

    await call('test_trigger_tool_change'); // in the view of the list itself
    await tools.getByRole('link', { name: 'transient_tool just added' }).waitFor();
    seen.own = await page.locator('#views').innerText();
    await tools.getByRole('link', { name: 'transient_tool' }).click();
    await page.locator('.detail h2', { hasText: 'transient_tool' }).waitFor();
    await page.waitForFunction(() => ![...document.querySelectorAll('.items .badge')].some(one => one.textContent.startsWith('just')));
    await nav('Prompts').click(); // it was left
    await tools.getByRole('link', { name: 'transient_prompt' }).waitFor();
    seen.left = await tools.locator('.badge').allInnerTexts();
  },

  // Links to a server and to a tool, which send nothing before the user does.
  async links() {
    const ask = page.getByTestId('connect');
    const link = (url, more = '') => `serverUrl=${encodeURIComponent(url)}${more}`;
    const follow = hash => page.evaluate(to => { location.hash = to; }, hash);
    const called = () => page.evaluate(async () => {
      const get = async path => (await fetch(`api/${path}`, { headers: { Authorization: `Bearer ${localStorage.getItem('stdwire key')}` } })).json();
      return (await get('traffic?after=0')).messages.filter(one => one.kind === 'request' && one.method === 'tools/call').length;
    });
    // a page that no token opened asks nothing
    const other = await browser.newContext();
    const stranger = await other.newPage();
    await stranger.goto(`${new URL(given.url).origin}/#${link(given.trap)}`);
    await stranger.locator('body[data-ready=refused]').waitFor();
    seen.strangers = await stranger.locator('dialog').count();
    await other.close();

    await page.goto(`${given.url}&${link(given.trap)}`);
    await ask.waitFor();
    seen.asked = await ask.innerText();
    seen.focused = await page.evaluate(() => document.activeElement.textContent);
    await examine('connect');
    await page.keyboard.press('Enter');
    await ask.waitFor({ state: 'detached' });
    seen.after = page.url();
    await follow(`#${link('javascript:alert(1)')}`);
    await ask.getByText('This link names no server').waitFor();
    seen.buttons = await ask.getByRole('button').allInnerTexts();
    await page.keyboard.press('Escape');
    seen.before = await page.locator('section.card').count();

    const args = '{"name": "Ada"}';
    await follow(`#${link(given.at, `&tool=${given.tool}&args=${encodeURIComponent(args)}`)}`);
    await ask.getByRole('button', { name: 'Connect' }).click();
    await page.locator('.detail h2', { hasText: given.tool }).waitFor();
    seen.filled = await page.locator('textarea.json').inputValue();
    await context.grantPermissions(['clipboard-read', 'clipboard-write']);
    await page.getByRole('button', { name: 'Copy as' }).click();
    await page.getByRole('menuitem', { name: 'A link to it' }).click();
    await page.getByText('Copied').waitFor();
    const copied = await page.evaluate(() => navigator.clipboard.readText());
    await page.goto('about:blank');
    await page.goto(copied);
    await page.locator('.detail h2', { hasText: given.tool }).waitFor();
    seen.again = await page.locator('textarea.json').inputValue();
    seen.called = await called();
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    await page.getByTestId('call').locator('.result').waitFor();
    seen.run = await called();
    await follow('#/servers');
    await page.getByRole('button', { name: /^More for/ }).click();
    await page.getByRole('menuitem', { name: 'Forget' }).click();
    await page.getByText('Connect to a server').waitFor();
  },

  // A list page by page.
  async pages() {
    await page.goto(given.url);
    await page.evaluate(() => { location.hash = '#/tools'; });
    const box = page.getByTestId('pages');
    await page.getByTestId('definitions').getByRole('link').nth(8).waitFor();
    await box.getByText('Page by page').click();
    await box.getByRole('button', { name: 'First page' }).click();
    await box.getByText('Page 1: 4 tools').waitFor();
    seen.first = await box.innerText();
    await examine('pages');
    await page.keyboard.press('Enter'); // the button for the next page has the focus
    await box.getByText('Page 2: 4 tools, after the cursor 4').waitFor();
    await box.getByRole('button', { name: 'Next page' }).click();
    await box.getByText('Page 3: 4 tools').waitFor();
    seen.last = await box.innerText();
    seen.next = await box.getByRole('button', { name: 'Next page' }).count();
  },

  // One list fails, and what is open stays.
  async cutlist() {
    await page.goto(given.url);
    await page.evaluate(to => { location.hash = to; }, `#/tools/${encodeURIComponent(given.server)}/test_trigger_tool_change`);
    const items = page.locator('.items a');
    await page.getByRole('button', { name: 'Run', exact: true }).waitFor();
    await items.first().waitFor(); // rows are drawn with the next frame
    const before = await items.count();
    await fetch(given.cut);
    await page.getByRole('button', { name: 'Run', exact: true }).click(); // the list changes, and is asked for
    await page.getByTestId('call').locator('.result').waitFor();
    await page.locator('.side').getByText('server_died').waitFor();
    seen.kept = await items.count() === before && await page.locator('.detail h2').innerText() === 'test_trigger_tool_change';
    await fetch(given.mend);
    await page.locator('.side').getByText('server_died').waitFor({ state: 'detached' });
    await page.waitForFunction(n => document.querySelectorAll('.items a').length !== n, before);
  },

  // The GET stream of a legacy session is left out.
  async stream() {
    await page.goto(given.url);
    await page.evaluate(() => { location.hash = '#/servers'; });
    const one = page.locator('.card');
    const box = one.getByLabel('Without the GET stream');
    const get = async path => page.evaluate(async to => (await fetch(`api/${to}`,
      { headers: { Authorization: `Bearer ${localStorage.getItem('stdwire key')}` } })).json(), path);
    // streams returns how many streams were opened after a call, for which the client waits for its stream.
    const streams = async () => {
      await page.evaluate(to => { location.hash = to; }, `#/tools/${encodeURIComponent(given.server)}/test_simple_text`);
      await page.getByRole('button', { name: 'Run', exact: true }).click();
      await page.getByTestId('call').locator('.result').waitFor();
      await page.evaluate(() => { location.hash = '#/servers'; });
      await one.getByText('Details', { exact: true }).click();
      await box.waitFor();
      return Number(await (await fetch(given.counter)).text());
    };
    const change = async action => {
      const [{ since }] = await get('servers');
      await action();
      for (;;) {
        const [now] = await get('servers');
        if (now.state === 'ready' && now.since !== since) return;
        await new Promise(resolve => { setTimeout(resolve, 20); });
      }
    };
    await one.locator('.state-ready').waitFor();
    seen.counts = [await streams()];
    await change(() => box.check());
    seen.counts.push(await streams());
    seen.checked = await box.isChecked();
    await examine('stream');
    await change(() => box.uncheck());
    seen.counts.push(await streams());
  },

  async closed() {
    await page.goto(given.url);
    await page.evaluate(() => { location.hash = '#/servers'; });
    await page.getByText('Read only: ').waitFor();
    seen.why = await page.getByText('Read only: ').innerText();
    await card(given.server).waitFor();
    await card(given.server).getByRole('button', { name: /^More for/ }).click();
    seen.buttons = await card(given.server).getByRole('menuitem').allInnerTexts();
  },
};

try {
  await scenarios[given.scenario]();
} catch (error) {
  // the error last: a summary of the tests has the end
  seen.broken = `${(await page.locator('body').innerText().catch(() => '')).slice(0, 5000)}\n${error.stack}`;
} finally {
  await browser.close();
}
console.log(JSON.stringify(seen));
