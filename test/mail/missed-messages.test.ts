import { type Mailbox, openMailbox, Person } from '@parley/test'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Installation, launch, usualTopologies } from '../src/launch.ts'

describe.each(usualTopologies)('mails about missed messages, %s', (topology) => {
  let mailbox: Mailbox
  let installation: Installation

  beforeAll(async () => {
    mailbox = await openMailbox()
    installation = await launch(topology, {
      env: {
        PARLEY_EMAIL_HOST: '127.0.0.1',
        PARLEY_EMAIL_PORT: String(mailbox.port),
        PARLEY_EMAIL_MISSED_MESSAGES_AFTER_SECONDS: '2',
        PARLEY_EMAIL_MISSED_MESSAGES_SHOW_TEXT: 'false',
      },
    })
  })
  afterAll(async () => {
    await installation?.discard()
    await mailbox?.close()
  })

  test('each mention causes one mail, without the text when the operator wants it so', async () => {
    const { baseUrl } = installation
    const [ann, bob] = await Promise.all(['ann', 'bob'].map((name) => Person.signIn(baseUrl, `${name}@example.com`)))
    const channel = await ann!.creates({ name: 'plans', members: [bob!.id] })
    expect((await bob!.get('/users/me/notifications')).body).toEqual({
      mailsMissedMessages: true,
      mailLanguage: null,
      mailsAfterSeconds: 2,
    })

    for (let n = 0; n < 3; n++) {
      const message = await ann!.says(`@bob the secret number is 4${n}`, channel)
      const { source } = await mailbox.nextTo('bob@example.com')
      expect(source).toMatch(/^Subject: ann mentioned you in #plans \(.+\)\r$/m)
      expect(source).toContain(`/c/${channel.id}/m/${message.id}`)
      expect(source).not.toContain('secret')
    }
    expect(mailbox.letters.map(({ to }) => to)).toEqual(Array.from({ length: 3 }, () => 'bob@example.com'))
  })
})
