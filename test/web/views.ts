import { readFile } from 'node:fs/promises'
import path from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { root } from '../src/launch.ts'
import type { Workspace } from './workspace.ts'

export const widths = { wide: { width: 1280, height: 800 }, narrow: { width: 390, height: 844 } } as const
/** The appearance of a page: its theme, language and density. */
export const looks = {
  light: { theme: 'light', language: 'en', density: 'comfortable' },
  dark: { theme: 'dark', language: 'en', density: 'comfortable' },
  compact: { theme: 'light', language: 'en', density: 'compact' },
  german: { theme: 'dark', language: 'de', density: 'comfortable' },
  arabic: { theme: 'light', language: 'ar', density: 'comfortable' },
} as const
export type Look = keyof typeof looks

/** A page, and the texts of its language by the English texts. */
interface Shown {
  page: Page
  t: (english: string, name?: string) => string
}
type Act = (shown: Shown) => Promise<unknown>

const press =
  (name: string, inner?: string): Act =>
  ({ page, t }) =>
    page
      .getByRole('button', { name: t(name, inner) })
      .first()
      .click()
/** Presses a button of the sidebar. On a narrow page the sidebar is hidden, so its navigation is opened first. */
const pressInSidebar =
  (name: string): Act =>
  async (shown) => {
    const navigation = shown.page.getByRole('button', { name: shown.t('Navigation') })
    if (await navigation.isVisible()) await navigation.click()
    await press(name)(shown)
  }
const choose =
  (button: string, inner: string, item: string): Act =>
  async (shown) => {
    await press(button, inner)(shown)
    await shown.page.getByRole('menuitem', { name: shown.t(item) }).click()
  }
/** Chooses from the menu of the open channel in the sidebar. */
const chooseOfOpenChannel =
  (item: string): Act =>
  async ({ page, t }) => {
    const navigation = page.getByRole('button', { name: t('Navigation') })
    if (await navigation.isVisible()) await navigation.click()
    await page.locator('.sidebar [aria-current=page]').click({ button: 'right' })
    await page.getByRole('menuitem', { name: t(item) }).click()
  }
const type =
  (text: string): Act =>
  async ({ page }) => {
    const box = page.locator('.main > .composer textarea')
    await box.fill('')
    await box.pressSequentially(text)
    await page.getByRole('listbox').waitFor()
  }
/** Presses a button of the newest message. */
const tool =
  (name: string): Act =>
  async ({ page, t }) => {
    const newest = page.getByRole('article').last()
    await newest.hover()
    await newest.getByRole('button', { name: t(name), exact: true }).click()
  }
const toolOfMenu =
  (name: string): Act =>
  async (shown) => {
    await tool('More actions')(shown)
    await shown.page.getByRole('menuitem', { name: shown.t(name) }).click()
  }
/** A view: its address, the actions that open it, and its width if it exists in only one. */
function viewsOf(workspace: Workspace): Record<string, [address: string, act?: Act, only?: keyof typeof widths]> {
  const channel = `/c/${workspace.channelId}`
  const pages = 'people groups bots webhooks subscriptions commands sign-in scim settings audit export'.split(' ')
  return {
    channel: [channel],
    thread: [`${channel}/t/${workspace.threadId}`],
    alerts: [`/c/${workspace.alertsId}`],
    files: [`/c/${workspace.filesId}`],
    viewer: [`/c/${workspace.filesId}`, press('release-page.png')],
    direct: [`/c/${workspace.conversationId}`],
    search: ['/search?q=release'],
    nothing: ['/search?q=nowhere'],
    threads: ['/threads'],
    mentions: ['/mentions'],
    saved: ['/saved'],
    empty: [`/c/${workspace.emptyId}`],
    missing: ['/c/01a00000-0000-7000-8000-000000000000'],
    person: [channel, press('Ada Lindqvist')],
    hover: [channel, ({ page }) => page.getByRole('article').last().hover()],
    edit: [channel, ({ page }) => page.keyboard.press('ArrowUp')],
    more: [channel, tool('More actions')],
    react: [channel, tool('React')],
    quote: [channel, tool('Quote')],
    attach: [
      channel,
      async ({ page }) => {
        const file = { name: 'release-notes.md', mimeType: 'text/markdown', buffer: Buffer.from('# 4.2') }
        await page.locator('.composer input[type=file]').setInputFiles(file)
      },
    ],
    note: [channel, toolOfMenu('Copy link')],
    offline: [
      channel,
      ({ page }) =>
        page
          .context()
          .setOffline(true)
          .then(() => page.waitForTimeout(500)),
    ],
    mention: [channel, type('Hello @')],
    emoji: [channel, type(':smi')],
    navigation: [channel, press('Navigation'), 'narrow'],
    menu: [channel, press('Account')],
    status: [channel, choose('Account', '', 'Set a status')],
    create: [channel, pressInSidebar('Create channel')],
    browse: [channel, pressInSidebar('Browse channels')],
    write: [channel, pressInSidebar('New direct message')],
    pins: [channel, press('Pinned messages')],
    settings: [channel, press('Channel settings')],
    notifications: [channel, chooseOfOpenChannel('Notifications')],
    switcher: [channel, ({ page }) => page.keyboard.press('Control+k')],
    shortcuts: [channel, ({ page }) => page.keyboard.press('Control+/')],
    preferences: ['/preferences'],
    profile: ['/profile'],
    security: ['/security'],
    sessions: ['/sessions'],
    tokens: ['/tokens'],
    'token-new': ['/tokens', press('Create token')],
    ...Object.fromEntries(pages.map((page) => [`admin-${page}`, [`/admin/${page}`]])),
    'person-add': ['/admin/people', press('Add person')],
    'person-menu': ['/admin/people', press('Actions for {name}', 'Dora')],
    'person-access': ['/admin/people', choose('Actions for {name}', 'Dora', 'Sessions and API tokens')],
    'group-members': ['/admin/groups', choose('Actions for {name}', 'on-call', 'Members')],
    'bot-tokens': ['/admin/bots', choose('Actions for {name}', 'deploy', 'API tokens')],
    'bot-app': ['/admin/bots', choose('Actions for {name}', 'deploy', 'Buttons and signing secret')],
    'command-new': ['/admin/commands', press('Create command')],
    'scim-new': ['/admin/scim', press('Create SCIM client')],
    'subscription-new': ['/admin/subscriptions', press('Create subscription')],
    deliveries: ['/admin/subscriptions', choose('Actions for {name}', 'https', 'Deliveries')],
  }
}

interface Shoot {
  browser: Browser
  baseUrl: string
  workspace: Workspace
  out: string
  width: keyof typeof widths
  look: Look
  /** The names of the views. By default all views. */
  only?: readonly string[]
}

/** Takes a screenshot of each view of a person who has just signed in. */
export async function shootViews({ browser, baseUrl, workspace, out, width, look, only }: Shoot): Promise<void> {
  const { theme, ...preferences } = looks[look]
  const t = await textsOf(preferences.language)
  const context = await browser.newContext({
    viewport: widths[width],
    colorScheme: theme,
    locale: preferences.language === 'en' ? 'en-GB' : preferences.language,
    reducedMotion: 'reduce',
  })
  await context.addInitScript(
    (chosen) => localStorage.setItem('parley.preferences', chosen),
    JSON.stringify(preferences),
  )
  const page = await context.newPage()
  page.setDefaultTimeout(5_000)
  const shoot = (name: string) => page.screenshot({ path: path.join(out, `${name}-${width}-${look}.png`) })
  await page.goto(baseUrl)
  await page.locator('input[type=email]').waitFor()
  await shoot('sign-in')
  await page.locator('input[type=email]').fill('admin@example.com')
  await page.keyboard.press('Enter')
  await page.locator('.composer textarea').waitFor()
  for (const [name, [address, act, onlyWidth = width]] of Object.entries(viewsOf(workspace))) {
    if (onlyWidth !== width || (only && !only.includes(name))) continue
    await page.goto(baseUrl + address)
    // On a narrow page an open thread covers main.
    await page.getByRole('main').or(page.getByRole('complementary')).filter({ visible: true }).first().waitFor()
    await page.waitForTimeout(500)
    await act?.({ page, t }).catch(() => process.stderr.write(`${name}, ${width}, ${look}: not to be had\n`))
    await page.waitForTimeout(300)
    await shoot(name)
    await context.setOffline(false)
  }
  await context.close()
}

async function textsOf(language: string): Promise<Shown['t']> {
  const file = path.join(root, 'services/web/page/texts', `${language}.json`)
  const texts = JSON.parse(await readFile(file, 'utf8')) as Record<string, string>
  return (english, name = '') => (texts[english] || english).replace('{name}', name)
}
