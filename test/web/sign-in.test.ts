import { TOTP } from 'otpauth'
import type { Locator, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { type Mailbox, openMailbox } from '../src/mailbox.ts'
import { startOpenid } from '../src/openid.ts'
import { Person } from '../src/person.ts'
import { describeSite } from './site.ts'

const passwords = { admin: 'the password of the admin', ann: 'correct horse battery', later: 'staple of another horse' }

/** Browsers do not support passkeys for IP addresses. */
const addressOf = (baseUrl: string) => baseUrl.replace('127.0.0.1', 'localhost')
const launched = () => ({
  env: {
    HOST: '0.0.0.0',
    PARLEY_AUTH_AUTH_MODE: 'password',
    PARLEY_EMAIL_HOST: '127.0.0.1',
    PARLEY_EMAIL_PORT: String(mailbox.port),
    PARLEY_OAUTH_CUSTOM: JSON.stringify([{ ...client, id: 'crew', name: 'Crew list', issuer: openid.url }]),
    INITIAL_USER_PASSWORD: passwords.admin,
  },
})

const client = { clientId: 'parley', clientSecret: 'of tests' }
let mailbox: Mailbox
let openid: Awaited<ReturnType<typeof startOpenid>>
beforeAll(async () => {
  mailbox = await openMailbox()
  // The redirect address is known only when the server runs.
  openid = await startOpenid({ ...client, redirectUri: 'http://localhost/nowhere' })
})
afterAll(async () => {
  await mailbox?.close()
  await openid?.close()
})

describeSite('the web client where people have passwords', { launched, addressOf }, (site) => {
  const { openPage } = site

  /** The address of a mailed link on this machine. */
  const pathOf = ({ link }: { link: URL }) => link.pathname + link.search

  test('a person chooses a password after an invitation and after forgetting it, and errors keep the typed texts', async () => {
    const admin = new Person(site.baseUrl, { id: '', userName: 'admin' })
    const credentials = { email: 'admin@example.com', password: passwords.admin }
    admin.token = (await admin.post('/auth/password-login', credentials)).body.accessToken
    expect(await admin.post('/users/add', { email: 'ann@example.com' })).toMatchObject({ status: 200 })

    const invitation = pathOf(await mailbox.nextTo('ann@example.com'))
    const ann = await openPage(invitation)
    await ann.getByLabel('New password').fill(passwords.ann)
    await ann.getByLabel('Repeat password').fill('something else')
    await ann.getByRole('button', { name: 'Set password' }).click()
    await ann.getByRole('alert').waitFor()
    await expect.poll(() => ann.locator('[aria-invalid=true]').evaluateAll(namesOf)).toEqual(['repeated'])
    expect(await ann.getByLabel('New password').inputValue()).toBe(passwords.ann)
    await ann.getByLabel('Repeat password').fill(passwords.ann)
    await ann.getByRole('button', { name: 'Set password' }).click()
    await ann.getByRole('heading', { level: 1, name: 'General' }).waitFor()
    expect(ann.url()).not.toContain('token')
    await ann.getByRole('button', { name: 'Account' }).click()
    await ann.getByRole('menuitem', { name: 'Sign out' }).click()

    const signIn = async (password: string) => {
      await ann.getByLabel('Email').fill('ann@example.com')
      await ann.getByLabel('Password', { exact: true }).fill(password)
      await ann.getByRole('button', { name: 'Sign in' }).click()
    }
    await signIn('wrong horse battery')
    await ann.getByRole('alert').waitFor()
    expect(await ann.getByLabel('Email').inputValue()).toBe('ann@example.com')

    await ann.getByText('Forgot password?').click()
    await ann.getByLabel('Email').fill('ann@example.com')
    await ann.getByRole('button', { name: 'Send reset link' }).click()
    await ann.getByRole('status').filter({ hasText: /mail/ }).waitFor()
    const reset = pathOf(await mailbox.nextTo('ann@example.com'))
    const choose = async (link: string) => {
      await ann.goto(addressOf(site.baseUrl) + link)
      await ann.getByLabel('New password').fill(passwords.later)
      await ann.getByLabel('Repeat password').fill(passwords.later)
      await ann.getByRole('button', { name: 'Set password' }).click()
    }
    await choose(reset)
    await ann.getByRole('heading', { level: 1, name: 'General' }).waitFor()
    expect(new URL(ann.url()).pathname).toMatch(/^\/c\//)

    // The second time, the link is refused, and the person keeps the session that they have.
    for (const link of [invitation, reset]) {
      await choose(link)
      await ann.getByRole('alert').filter({ hasText: 'This link is not valid any more' }).waitFor()
      await ann.getByRole('link', { name: 'Back to sign in' }).click()
      await ann.getByRole('heading', { level: 1, name: 'General' }).waitFor()
    }
  })

  test('a person with a keyboard has the focus in the first field of every view', async () => {
    const admin = new Person(site.baseUrl, { id: '', userName: 'admin' })
    const credentials = { email: 'admin@example.com', password: passwords.admin }
    admin.token = (await admin.post('/auth/password-login', credentials)).body.accessToken
    expect(await admin.post('/users/add', { email: 'kim@example.com' })).toMatchObject({ status: 200 })
    const kim = await openPage(pathOf(await mailbox.nextTo('kim@example.com')))
    const hasFocus = (label: string) =>
      kim
        .locator('input:focus')
        .and(kim.getByLabel(label, { exact: true }))
        .waitFor()
    await hasFocus('New password')
    await kim.goto(addressOf(site.baseUrl))
    await hasFocus('Email')
    for (const name of ['Forgot password?', 'Create account']) {
      await kim.getByRole('button', { name }).press('Enter')
      await kim.getByRole('heading', { level: 1, name: name === 'Create account' ? name : 'Reset password' }).waitFor()
      await hasFocus('Email')
      await kim.getByRole('button', { name: 'Back to sign in' }).click()
      await kim.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor()
      await hasFocus('Email')
    }
  })

  test('a person creates an account, but not with the address of somebody else', async () => {
    const eli = await openPage('/preferences')
    await eli.getByRole('button', { name: 'Create account' }).click()
    await eli.getByLabel('Email').fill('admin@example.com')
    await eli.getByLabel('Password', { exact: true }).fill('seven c')
    const create = eli.getByRole('button', { name: 'Create account' })
    await create.click()
    await eli.getByRole('alert').filter({ hasText: '8 characters' }).waitFor()
    await eli.getByLabel('Password', { exact: true }).fill('eight ch')
    await create.click()
    await eli.getByRole('alert').filter({ hasText: 'already in use' }).waitFor()
    expect(await eli.getByLabel('Email').inputValue()).toBe('admin@example.com')
    await eli.getByLabel('Email').fill('eli@example.com')
    await create.click()
    await eli.getByRole('heading', { level: 1, name: 'Preferences' }).waitFor()
  })

  test('a person signs in through a provider, and is told when it is refused', async () => {
    await openid.acceptRedirect(`${addressOf(site.baseUrl)}/auth/oauth/crew/callback`)
    const fay = await openPage()
    const link = fay.getByRole('link', { name: 'Continue with Crew list' })
    openid.signedIn.claims = { email: 'fay@example.com', email_verified: false }
    await link.click()
    await fay
      .getByRole('alert')
      .filter({ hasText: /verified/ })
      .waitFor()
    openid.signedIn.claims = { email: 'fay@example.com', email_verified: true }
    await link.click()
    await fay.getByRole('heading', { level: 1, name: 'General' }).waitFor()
    expect(new URL(fay.url()).search).toBe('')
    await fay.reload()
    await fay.getByRole('button', { name: 'Account' }).click()
    await fay.getByRole('menuitem', { name: 'Profile' }).click()
    await expect.poll(() => fay.getByLabel('Email').inputValue()).toBe('fay@example.com')
  })

  /** A signed-in person with the page "Security" open. */
  async function openSecurity(email: string, password: string, role = 'member') {
    const admin = new Person(site.baseUrl, { id: '', userName: 'admin' })
    const login = await admin.post('/auth/password-login', { email: 'admin@example.com', password: passwords.admin })
    admin.token = login.body.accessToken
    expect(await admin.post('/users/add', { email, password, role })).toMatchObject({ status: 200 })
    const page = await openPage('/', { withoutWorker: true })
    const signIn = async () => {
      await page.getByLabel('Email').fill(email)
      await page.getByLabel('Password', { exact: true }).fill(password)
      await page.getByRole('button', { name: 'Sign in' }).click()
    }
    const signOut = async () => {
      await page.getByRole('button', { name: 'Account' }).click()
      await page.getByRole('menuitem', { name: 'Sign out' }).click()
    }
    const arrives = () => page.getByRole('heading', { level: 1, name: 'General' }).waitFor()
    await signIn()
    await arrives()
    await page.getByRole('button', { name: 'Account' }).click()
    await page.getByRole('menuitem', { name: 'Security' }).click()
    await page.getByRole('heading', { level: 1, name: 'Security' }).waitFor()
    return { page, signIn, signOut, arrives }
  }

  test('recovery codes that the browser does not copy are shown, so that the person can copy them', async () => {
    const { page } = await openSecurity('carol@example.com', 'a phrase that is long')
    await page.getByRole('button', { name: 'Set up' }).click()
    const secret = await page.getByLabel('Secret').inputValue()
    await page.getByLabel('Code', { exact: true }).fill(new TOTP({ secret }).generate())
    await page.getByRole('button', { name: 'Confirm' }).click()
    const codes = page.getByRole('region', { name: 'Recovery codes' })
    const session = await site.browser.newBrowserCDPSession()
    await session.send('Browser.setPermission', { permission: { name: 'clipboard-write' }, setting: 'denied' })
    onTestFinished(() => session.detach())
    await codes.getByRole('button', { name: 'Copy' }).click()
    const [first] = await codes.getByRole('listitem').allInnerTexts()
    await page.getByRole('alert').filter({ hasText: first! }).waitFor()
  })

  test('an authenticator app is set up and needed for the sign-in, and a recovery code replaces it', async () => {
    const { page, signIn, signOut, arrives } = await openSecurity('bob@example.com', 'a long enough phrase')
    const hasFocus = (element: Locator) => page.locator(':focus').and(element).waitFor()
    await page.getByRole('button', { name: 'Set up' }).press('Enter')
    await page.getByRole('img', { name: 'QR code' }).waitFor()
    await hasFocus(page.getByLabel('Code', { exact: true }))
    const secret = await page.getByLabel('Secret').inputValue()
    // Each code works once, and the code of the next half minute is already accepted.
    const code = (ahead: number) => new TOTP({ secret }).generate({ timestamp: Date.now() + ahead * 30_000 })
    await page.keyboard.type(code(0))
    await page.keyboard.press('Enter')
    const region = page.getByRole('region', { name: 'Recovery codes' })
    await hasFocus(region)
    const shown = region.getByRole('listitem')
    const recoveryCodes = await shown.allInnerTexts()
    expect(recoveryCodes).toHaveLength(10)
    await signOut()

    await signIn()
    await hasFocus(page.getByLabel('Code'))
    await page.keyboard.type('no code')
    await page.getByRole('button', { name: 'Verify' }).click()
    await page.getByRole('alert').waitFor()
    expect(await page.getByLabel('Code').inputValue()).toBe('no code')
    await page.getByLabel('Code').fill(code(1))
    await page.getByRole('button', { name: 'Verify' }).click()
    await arrives()
    await signOut()

    await signIn()
    await page.getByRole('button', { name: 'Use a recovery code' }).click()
    await hasFocus(page.getByLabel('Recovery code'))
    await page.keyboard.type(recoveryCodes[0]!)
    await page.keyboard.press('Enter')
    await arrives()

    await page.goto(`${addressOf(site.baseUrl)}/security`)
    const form = page.getByRole('form', { name: 'Change password' })
    const change = async (current: string, next: string) => {
      await form.getByLabel('Current password').fill(current)
      await form.getByLabel('New password').fill(next)
      await form.getByLabel('Repeat password').fill(next)
      await form.getByRole('button', { name: 'Change password' }).click()
    }
    const refused = () => form.locator('[aria-invalid=true]').evaluateAll(namesOf)
    await form.getByLabel('Code').fill(recoveryCodes[1]!)
    await change('a long enough phrase', 'short')
    await expect.poll(refused).toEqual(['newPassword'])
    expect(await form.getByLabel('New password').getAttribute('aria-describedby')).toMatch(/^\S+-hint \S+$/)
    await change('not this one', 'another long phrase')
    await expect.poll(refused).toEqual(['currentPassword'])
    await change('a long enough phrase', 'another long phrase')
    await page.getByRole('status').filter({ hasText: 'The password was changed' }).waitFor()

    await page.getByRole('button', { name: 'Remove authenticator app' }).click()
    const dialog = page.getByRole('dialog', { name: 'Remove authenticator app' })
    await dialog.getByLabel('Code').fill(recoveryCodes[2]!)
    await dialog.getByRole('button', { name: 'Remove' }).click()
    await page.getByRole('button', { name: 'Set up' }).waitFor()
  })

  test('a passkey is added, used for signing in without and after a password, and removed', async () => {
    const { page, signIn, signOut, arrives } = await openSecurity('cat@example.com', 'a long enough phrase')
    await addAuthenticator(page)
    await page.getByLabel('Name').fill('my laptop')
    await page.getByRole('button', { name: 'Add passkey' }).click()
    await page.getByRole('row', { name: 'my laptop' }).waitFor()
    await signOut()

    await page.getByRole('button', { name: 'Use a passkey' }).click()
    await arrives()
    await signOut()
    // After a password, the passkey is the second step.
    await signIn()
    await page.getByRole('heading', { level: 1, name: 'Second step' }).waitFor()
    await page.getByRole('button', { name: 'Use a passkey' }).click()
    await arrives()
    await page.goto(`${addressOf(site.baseUrl)}/security`)
    await page.getByRole('row', { name: 'my laptop' }).getByRole('button', { name: 'Remove' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click()
    await page.getByRole('row', { name: 'my laptop' }).waitFor({ state: 'detached' })
  })

  test('a person who signed in long ago confirms with a code that they add a passkey', async () => {
    const { page } = await openSecurity('eva@example.com', 'a long enough phrase')
    await addAuthenticator(page)
    await page.getByRole('button', { name: 'Set up' }).click()
    const secret = await page.getByLabel('Secret').inputValue()
    const code = (ahead: number) => new TOTP({ secret }).generate({ timestamp: Date.now() + ahead * 30_000 })
    await page.getByLabel('Code', { exact: true }).fill(code(0))
    await page.getByRole('button', { name: 'Confirm' }).click()
    await page.getByRole('region', { name: 'Recovery codes' }).getByRole('listitem').first().waitFor()

    // Simulates a session that is older than ten minutes: without a code, the server refuses to begin.
    await page.route('**/auth/passkeys/registration', async (route) => {
      if (route.request().postDataJSON()?.code) return route.continue()
      await route.fulfill({ status: 403, json: { error: 'A second factor is needed', code: 'mfa_required' } })
    })
    await page.getByLabel('Name').fill('my phone')
    await page.getByRole('button', { name: 'Add passkey' }).click()
    const dialog = page.getByRole('dialog', { name: 'Confirm with your second factor' })
    await dialog.getByLabel('Code').fill('no code')
    await dialog.getByRole('button', { name: 'Confirm' }).click()
    await dialog.getByRole('alert').waitFor()
    await dialog.getByLabel('Code').fill(code(1))
    await dialog.getByRole('button', { name: 'Confirm' }).click()
    await page.getByRole('row', { name: 'my phone' }).waitFor()
    await dialog.waitFor({ state: 'detached' })
  })

  test('a person without a second factor confirms with their password that they create an API token', async () => {
    const { page } = await openSecurity('gil@example.com', 'a long enough phrase')
    // Simulates a session that is older than ten minutes: without a password, the server refuses.
    await page.route('**/auth/tokens', async (route) => {
      if (route.request().method() !== 'POST' || route.request().postDataJSON().currentPassword) return route.continue()
      await route.fulfill({ status: 403, json: { error: 'Your password is needed', code: 'password_required' } })
    })
    await page.goto(`${addressOf(site.baseUrl)}/tokens`)
    await page.getByRole('button', { name: 'Create token' }).click()
    const form = page.getByRole('dialog', { name: 'Create token' })
    await form.getByLabel('Name').fill('a program')
    await form.getByRole('button', { name: 'Create' }).click()
    const dialog = page.getByRole('dialog', { name: 'Confirm with your password' })
    await dialog.getByRole('button', { name: 'Close' }).click()
    await form.getByRole('alert').waitFor()
    await form.getByRole('button', { name: 'Create' }).click()
    await dialog.getByLabel('Current password').fill('wrong horse')
    await dialog.getByRole('button', { name: 'Confirm' }).click()
    await dialog.getByRole('alert').waitFor()
    await dialog.getByLabel('Current password').fill('a long enough phrase')
    await dialog.getByRole('button', { name: 'Confirm' }).click()
    await form.getByRole('textbox', { name: 'Token' }).waitFor()
    await dialog.waitFor({ state: 'detached' })
  })

  test('an admin confirms with their password that they create a token for a bot and for a directory', async () => {
    const { page } = await openSecurity('hal@example.com', 'a long enough phrase', 'admin')
    // Simulates a session that is older than ten minutes: without a password, the server refuses.
    await page.route(/\/(bots\/[^/]+\/tokens|admin\/scim-clients)$/, async (route) => {
      if (route.request().method() !== 'POST' || route.request().postDataJSON().currentPassword) return route.continue()
      await route.fulfill({ status: 403, json: { error: 'Your password is needed', code: 'password_required' } })
    })
    const confirm = async () => {
      const dialog = page.getByRole('dialog', { name: 'Confirm with your password' })
      await dialog.getByLabel('Current password').fill('a long enough phrase')
      await dialog.getByRole('button', { name: 'Confirm' }).click()
      await dialog.waitFor({ state: 'detached' })
    }
    await page.goto(`${addressOf(site.baseUrl)}/admin/bots`)
    await page.getByRole('button', { name: 'Create bot' }).click()
    await page.getByRole('dialog', { name: 'Create bot' }).getByLabel('Name', { exact: true }).fill('compass')
    await page.getByRole('dialog').getByRole('button', { name: 'Create', exact: true }).click()
    await page.getByRole('dialog', { name: 'API tokens of compass' }).waitFor()
    await page.getByRole('button', { name: 'Create token' }).click()
    const token = page.getByRole('dialog', { name: 'Create token' })
    await token.getByLabel('Name').fill('a program')
    await token.getByRole('button', { name: 'Create' }).click()
    await confirm()
    await token.getByRole('textbox', { name: 'Token' }).waitFor()

    await page.goto(`${addressOf(site.baseUrl)}/admin/scim`)
    await page.getByRole('button', { name: 'Create SCIM client' }).click()
    const directory = page.getByRole('dialog', { name: 'Create SCIM client' })
    await directory.getByLabel('Name').fill('the directory')
    await directory.getByRole('button', { name: 'Create', exact: true }).click()
    await confirm()
    await directory.getByRole('textbox', { name: 'Token' }).waitFor()
  })
})

const withFactors = () => ({
  env: { HOST: '0.0.0.0', PARLEY_AUTH_ALLOW_PUBLIC_DEV_MODE: 'true', PARLEY_AUTH_MFA: 'required' },
})
describeSite('the web client where everybody needs a second factor', { launched: withFactors, addressOf }, (site) => {
  test('a person without a second factor must set one up before anything else', async () => {
    const page = await site.openPage('/preferences', { withoutWorker: true })
    await addAuthenticator(page)
    await page.getByLabel('Email').fill('dan@example.com')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('heading', { level: 1, name: 'Set up a second factor' }).waitFor()
    expect(await page.getByRole('button', { name: 'Continue' }).count()).toBe(0)
    await page.reload()
    await page.getByRole('heading', { level: 1, name: 'Set up a second factor' }).waitFor()
    await page.getByLabel('Name').fill('key of dan')
    await page.getByRole('button', { name: 'Add passkey' }).click()
    await page.getByRole('row', { name: /key of dan/ }).waitFor()
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByRole('heading', { level: 1, name: 'Preferences' }).waitFor()

    // Simulates a session of a provider, which must be ended at the provider too.
    const logoutUrl = 'https://provider.example/logout'
    await page.route(logoutUrl, (route) => route.fulfill({ contentType: 'text/html', body: '<h1>Good bye</h1>' }))
    await page.route('**/auth/logout', async (route) => {
      const response = await route.fetch()
      await route.fulfill({ response, json: { ...(await response.json()), logoutUrl } })
    })
    await page.getByRole('button', { name: 'Account' }).click()
    await page.getByRole('menuitem', { name: 'Sign out' }).click()
    await page.getByRole('heading', { name: 'Good bye' }).waitFor()
  })
})

/** A virtual passkey device of the browser, which confirms everything. */
async function addAuthenticator(page: Page) {
  const devtools = await page.context().newCDPSession(page)
  await devtools.send('WebAuthn.enable')
  await devtools.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
    },
  })
}

const namesOf = (fields: Element[]) => fields.map((field) => field.getAttribute('name'))
