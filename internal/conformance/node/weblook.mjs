// Every view, full, empty and failing, as a designer looks at it. See web.mjs.
export default ({ given, page, go, tool, run, look, everywhere }) => {
  const at = name => look(`${given.scenario}-${name}`, everywhere);
  const button = (name, place = page) => place.getByRole('button', { name, exact: true });
  const card = id => page.getByTestId(`server-${id}`);
  const view = async (name, then) => {
    await go(`#/${name}`);
    await page.waitForSelector(`nav a[aria-current][data-view=${/\w+/.exec(name)[0]}]`, { state: 'attached' });
    await then?.();
    await at(name.split(/[/?]/)[0]);
  };
  const first = () => page.locator('.items a').first().waitFor();
  const none = () => page.locator('.empty:visible').first().waitFor();

  return {
    async full() {
      for (const id of ['everything', 'files', 'remote']) {
        await card(id).getByRole('switch').click();
        await card(id).locator('.state-ready').waitFor();
      }
      await page.waitForFunction(() => document.querySelectorAll('.stats').length > 3 && document.querySelector('[data-testid=server-files] .stats')?.innerText.includes('tokens'));
      await view('servers');
      await card('files').getByText('Details', { exact: true }).click();
      await button('More for files', card('files')).click();
      await card('files').getByRole('menuitem').first().waitFor();
      await at('servers-menu');
      await page.keyboard.press('Escape');
      await button('More for files', card('files')).click();
      await card('files').getByRole('menuitem', { name: 'Edit' }).click();
      const dialog = page.getByTestId('change');
      await dialog.getByLabel('command', { exact: true }).fill('/usr/local/bin/stdwire');
      await dialog.getByLabel('What changes').waitFor();
      await at('servers-edit');
      await button('Cancel', dialog).click();
      await button('Add server').click();
      await page.getByLabel('Command line, URL or JSON').waitFor();
      await at('servers-add');
      await page.keyboard.press('Escape');

      await button('More for everything', card('everything')).click();
      await card('everything').getByRole('menuitem', { name: 'Log level' }).click();
      await button('debug').click();
      await page.getByText('It logs from debug on.').waitFor();
      await tool('everything', 'test_tool_with_logging');
      await run();
      await tool('everything', 'test_multiple_content_types');
      await run();
      await at('tools-contents');
      await tool('remote', 'test_simple_text');
      await run();
      await tool('files', 'fs_read');
      await page.locator('.form').getByLabel('path', { exact: true }).fill('notes.md');
      await run();
      await at('tools-result');
      await tool('files', 'fs_search');
      await at('tools-form');
      await tool('files', 'fs_list');
      await run();
      await view('tools/files/fs_list');
      await view('apps', first);
      await view('resources', first);
      await button('Read').click();
      await page.locator('.result').waitFor();
      await at('resources-read');
      await view('templates', first);
      await view('prompts', first);
      await view('skills', first);

      await tool('everything', 'slow_compute');
      await page.locator('.form').getByLabel('seconds', { exact: true }).fill('1');
      await button('Run as a task').click();
      await page.waitForSelector('.result');
      await page.locator('.form').getByLabel('seconds', { exact: true }).fill('600');
      await button('Run as a task').click();
      await page.waitForFunction(() => /task \S+: /.test(document.querySelector('.progress')?.innerText ?? ''));
      await view('tasks', () => page.getByTestId('task').nth(1).waitFor());
      await button('Cancel the task').click();

      await tool('files', 'fs_list');
      for (const name of ['the directory is listed', 'it is quick']) {
        await button('Save the call').click();
        await page.getByLabel('Name of the saved call').fill(name);
        await button('Save').click();
        await page.getByRole('link', { name: 'all saved calls' }).waitFor();
      }
      await view('saved', () => page.locator('.card').nth(1).waitFor());
      await button('Run all').click();
      await page.locator('.outcome.good').waitFor();
      await at('saved-run');

      await view('timeline', () => page.locator('.message').nth(5).waitFor());
      await page.locator('.message', { hasText: '↳ tools/call' }).last().click();
      await page.waitForSelector('.message-panel .tree');
      await at('timeline-message');
      await view('logs', () => page.locator('.items li').first().waitFor());
      await view('network', () => page.locator('.items li').first().waitFor());
      await page.locator('.items summary').last().click();
      await page.locator('.items details[open] .facts').first().waitFor();
      await at('network-request');

      await tool('everything', 'test_elicitation_sep1330_enums');
      await button('Run').click();
      await page.waitForSelector('#questions .question .form');
      await at('question');
      await button('Decline').click();
      await page.waitForSelector('.result');
      await at('declined');
      await tool('everything', 'test_sampling');
      await page.locator('.form').getByLabel('prompt', { exact: true }).fill('What is the capital of France?');
      await button('Run').click();
      await page.getByLabel('The answer').waitFor();
      await at('question-sampling');
      await button('Refuse').click();

      await page.keyboard.press('Control+k');
      await page.keyboard.type('fs');
      await page.locator('.palette li').nth(3).waitFor();
      await at('search');
      await page.keyboard.press('Escape');
      await page.evaluate(() => document.activeElement.blur());
      await page.keyboard.press('?');
      await page.waitForSelector('dialog[open]');
      await at('keys');
      await page.keyboard.press('Escape');
      await view('servers');
      await page.keyboard.press('c');
      await at('servers-compact');
      await view('tools/files/fs_list', first);
      await at('tools-compact');
    },

    // Nothing is configured.
    async empty() {
      await page.getByLabel('Command line, URL or JSON').waitFor();
      await at('servers');
      for (const name of ['tools', 'resources', 'templates', 'prompts', 'skills', 'apps', 'tasks', 'saved', 'timeline', 'logs', 'network']) await view(name, none);
    },

    // A server that runs, and has tools alone.
    async bare() {
      await card(given.server).locator('.state-ready').waitFor();
      await at('servers');
      for (const name of ['resources', 'templates', 'prompts', 'skills', 'apps', 'tasks', 'saved', 'logs', 'network']) await view(name, none);
      await view('tools', first);
      await page.getByLabel('Search tools').fill('nowhere');
      await page.getByText('Nothing matches.').waitFor();
      await at('tools-search');
      await page.getByLabel('Search tools').fill('');
      await tool(given.server, 'visit');
      await button('Run').click();
      await page.waitForSelector('#questions .url');
      await at('question-url');
      await button('Decline').click();
      await tool(given.server, 'slow');
      await button('Run').click();
      await page.waitForSelector('.progress progress[value="1"]');
      await at('tools-progress');
    },

    // Servers that fail, calls that fail, and a definition that has changed.
    async failing() {
      for (const id of ['exits', 'missing', 'refused']) {
        await card(id).getByRole('switch').click();
        await card(id).locator('.problem').first().waitFor();
      }
      await card('page').getByRole('switch').click();
      await card('page').locator('.state-ready').waitFor();
      await button('Logs', card('exits')).click();
      await card('exits').locator('.log').waitFor();
      await at('servers');
      await view('tools/exits', () => page.locator('main .problem').first().waitFor());
      await tool('page', 'error');
      await page.locator('textarea.json').fill('{"error": {"code": -32602, "message": "path must not be empty", "data": {"path": "/arguments/path"}}}');
      await run();
      await at('tools-error');
      await tool('page', 'misfit');
      await run();
      await at('tools-misfit');
      await tool('page', 'echo');
      await page.locator('.detail .diff').waitFor();
      await at('tools-changed');
      await tool('page', 'arguments');
      await button('Run').click();
      await page.locator('.detail .result').waitFor();
      await at('tools-invalid');
      await view('timeline', () => page.locator('.message.bad').first().waitFor());
      await page.locator('.message.bad').first().click();
      await page.waitForSelector('.message-panel .tree');
      await at('timeline-error');
      await view('network', () => page.locator('.items .bad').first().waitFor());
      await view('tasks');
      await page.route('**/api/**', route => route.abort());
      await view('saved', () => page.locator('.problem').first().waitFor());
      await page.unroute('**/api/**');
    },
  };
};
