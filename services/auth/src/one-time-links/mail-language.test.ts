import { describe, expect, test } from 'vitest'
import { runningAuth } from '../auth.testing.ts'

const server = runningAuth({
  auth: { authMode: 'magic-link', isInviteRequired: false },
  email: { host: 'mail.example.com', language: 'de' },
})

/** Asks for a magic link, and returns its mail. */
async function linkMail(email: string, headers = {}) {
  expect((await server.nobody.post('/auth/login', { email }, headers)).status).toBe(200)
  return (await server.mailTo(email)).at(-1)!
}
const inLanguage = (language: string) => ({ 'accept-language': language })

async function signsIn(email: string, headers: Record<string, string>) {
  const { text } = await linkMail(email)
  const token = new URL(/https?:\S+/.exec(text)![0]).searchParams.get('token')
  const { status } = await server.nobody.post(
    '/auth/verify',
    { email },
    { ...headers, authorization: `Bearer ${token}` },
  )
  expect(status).toBe(200)
}

describe('a mail to somebody whose language is not known', () => {
  test('is in the language of the request', async () => {
    const mail = await linkMail('eve@example.com', inLanguage('fr-FR, en-US;q=0.8, de;q=0.5'))
    expect(mail).toMatchObject({ subject: 'Your sign-in link', text: expect.stringContaining('Use this link') })
    expect(mail.html).toContain('<html lang="en" dir="ltr">')
  })

  test('is in the language of the server when the request names none of ours', async () => {
    for (const headers of [{}, inLanguage('*'), inLanguage('fr')]) {
      const mail = await linkMail('finn@example.com', headers)
      expect(mail).toMatchObject({
        subject: 'Dein Link zum Anmelden',
        text: expect.stringContaining('15 Minuten lang'),
      })
    }
  })
})

describe('after the first sign-in with a browser', () => {
  test('mails are in its language, also when another program asks for them, until the person chooses another one', async () => {
    const email = 'gita@example.com'
    await signsIn(email, { ...inLanguage('ar,en;q=0.5'), 'user-agent': 'the first browser' })
    const mail = await linkMail(email, inLanguage('en'))
    expect(mail).toMatchObject({ subject: 'رابط تسجيل الدخول' })
    expect(mail.html).toContain('<html lang="ar" dir="rtl">')

    await signsIn(email, { ...inLanguage('en'), 'user-agent': 'the second browser' })
    expect((await server.mailTo(email)).at(-1)).toMatchObject({ subject: expect.stringContaining('تسجيل دخول جديد') })

    await server.deps.db.updateTable('users').set({ language: 'en' }).where('email', '=', email).execute()
    expect(await linkMail(email, inLanguage('ar'))).toMatchObject({ subject: 'Your sign-in link' })
  })

  test('a sign-in of a program that names no language leaves it unknown', async () => {
    const email = 'hugo@example.com'
    await signsIn(email, {})
    expect(await linkMail(email, inLanguage('ar'))).toMatchObject({ subject: 'رابط تسجيل الدخول' })
  })
})
