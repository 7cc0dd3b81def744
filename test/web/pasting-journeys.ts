import type { Locator, Page } from 'playwright-core'
import { expect, test } from 'vitest'
import type { Site } from './site.ts'
import { act, article, composer, createChannel, say } from './visitors.ts'

const html = `<meta charset="utf-8"><p>Ship it <b>today</b>, see <a href="https://example.org/plan">the plan</a>:</p>
<ul><li>paint</li><li>sell <code>boat</code></li></ul><img src="https://example.org/x.png"><script>document.title = 'x'</script>`
const text = 'Ship it today, see the plan:\n\npaint\nsell boat'
const markup = 'Ship it **today**, see [the plan](https://example.org/plan):\n\n- paint\n- sell `boat`'

/** Text with formats that is pasted from other programs. */
export function pastingJourneys(site: Site) {
  async function arrive(name: string) {
    const page = await site.signIn(name, '/', { permissions: ['clipboard-read', 'clipboard-write'] })
    await createChannel(page, `${name}s yard`)
    return { page, box: composer(page, `${name}s yard`) }
  }
  const copy = (page: Page, data: Record<string, string>) =>
    page.evaluate((given) => navigator.clipboard.write([new ClipboardItem(given)]), data)
  /** Pastes what only some programs put into the clipboard. Returns whether the browser pastes the plain text. */
  const isLeftToBrowser = (box: Locator, data: Record<string, string>) =>
    box.evaluate((element, given) => {
      const clipboardData = new DataTransfer()
      for (const [type, value] of Object.entries(given)) clipboardData.setData(type, value)
      return element.dispatchEvent(new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true }))
    }, data)

  test('it becomes markup, with one step to undo, also in an edited message, and Ctrl+Shift+V pastes it without formats', async () => {
    const { page, box } = await arrive('rolf')
    const requests: string[] = []
    page.on('request', (request) => requests.push(request.url()))
    await copy(page, { 'text/html': html, 'text/plain': text })
    // The part of the page that reads formats is loaded after the first view.
    await expect
      .poll(async () => {
        await box.fill('')
        await box.press('Control+v')
        return box.inputValue()
      })
      .toBe(markup)
    await box.press('Control+z')
    expect(await box.inputValue()).toBe('')
    await box.press('Control+Shift+v')
    expect(await box.inputValue()).toBe(text)

    await box.fill('So: next')
    await box.evaluate((element) => (element as HTMLTextAreaElement).setSelectionRange(4, 4))
    await copy(page, { 'text/html': '<ul><li>one</li><li>two</li></ul>', 'text/plain': 'one\ntwo' })
    await box.press('Control+v')
    await expect.poll(() => box.inputValue()).toBe('So: \n- one\n- two\nnext')
    await box.fill('')

    await say(page, 'rolfs yard', 'to be changed')
    await act(page, 'to be changed', 'Edit')
    const edit = page.getByRole('textbox', { name: 'Edit message' })
    await edit.selectText()
    await copy(page, { 'text/html': html, 'text/plain': text })
    await edit.press('Control+v')
    await expect.poll(() => edit.inputValue()).toBe(markup)
    await edit.press('Enter')
    await article(page, 'Ship it').locator('strong', { hasText: 'today' }).waitFor()
    await article(page, 'Ship it').getByRole('listitem').filter({ hasText: 'sell boat' }).waitFor()
    expect(requests.filter((url) => url.includes('example.org'))).toEqual([])
  })

  test('the browser pastes plain text, an address, code of an editor, and text within code', async () => {
    const { box } = await arrive('vigo')
    const formatted = { 'text/html': '<b>bold</b> move', 'text/plain': 'bold move' }
    await expect.poll(() => isLeftToBrowser(box, formatted)).toBe(false)
    await expect.poll(() => box.inputValue()).toContain('**bold** move')
    const plain: Record<string, string>[] = [
      { 'text/plain': '*bold* move' },
      { 'text/html': '<a href="https://example.org">The example</a>', 'text/plain': 'https://example.org' },
      { 'text/html': '<div><b>int</b> a;</div>', 'text/plain': 'int a;', 'vscode-editor-data': '{}' },
    ]
    for (const data of plain) {
      expect([data, await isLeftToBrowser(box, data)]).toEqual([data, true])
    }
    for (const [before, isLeft] of [
      ['```\n', true],
      ['see `', true],
      ['```\na\n```\n', false],
    ] as const) {
      await box.fill(before)
      expect([before, await isLeftToBrowser(box, formatted)]).toEqual([before, isLeft])
    }
  })

  test('a text without a format that messages have is pasted as plain text', async () => {
    const { box } = await arrive('wiebke')
    const texts = [
      { 'text/html': '<p>one</p><p>two</p>', 'text/plain': 'one\n\ntwo' },
      { 'text/html': '<div style="white-space: pre;"><b>int</b> a;</div>', 'text/plain': 'int a;' },
    ]
    await expect.poll(() => isLeftToBrowser(box, texts[0]!)).toBe(false)
    await expect.poll(() => box.inputValue()).toBe(texts[0]!['text/plain'])
    for (const data of texts) {
      await box.fill('see: ')
      await isLeftToBrowser(box, data)
      await expect.poll(() => box.inputValue()).toBe(`see: ${data['text/plain']}`)
    }
  })
}
