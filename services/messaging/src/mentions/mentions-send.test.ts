import { Person } from '@parley/test'
import { testEnvironment } from '@parley/test/test-environment'
import { beforeAll, describe, expect, test } from 'vitest'

const environment = testEnvironment()

describe('mentions of a message', () => {
  const ids: Record<string, string> = {}
  beforeAll(async () => {
    for (const [name, email] of [
      ['Mary', 'mary@example.com'],
      ['Mary Ann', 'mary.ann@example.com'],
      ['Ωmega.', 'omega@example.com'],
    ] as const) {
      const person = await Person.signIn(environment.baseUrl, email)
      await person.put('/users/me', { userName: name })
      ids[name] = person.id
    }
  })
  const mentions = async (content: string) =>
    (await environment.people.bob.says(content, environment.channel.open)).mentions

  test('are ids of people, whatever the case; the longest name wins', async () => {
    expect(await mentions('@mary said')).toEqual([ids.Mary])
    expect(await mentions('@MARY ann said')).toEqual([ids['Mary Ann']])
    expect(await mentions('(@Mary Anne)')).toEqual([ids.Mary])
    expect(await mentions('is it you, @mary?')).toEqual([ids.Mary])
  })

  test('may end with punctuation of the name or of the sentence', async () => {
    expect(await mentions('@ωMEGA. @mary.')).toEqual([ids['Ωmega.'], ids.Mary])
  })

  test('name people whose addresses have an apostrophe or a plus sign', async () => {
    const [neil, tagged] = await Promise.all(
      ["o'neil@example.com", 'mary+dev@example.com'].map((email) => Person.signIn(environment.baseUrl, email)),
    )
    expect(await mentions("@O'Neil and @mary+dev")).toEqual([neil!.id, tagged!.id])
    expect(await mentions("(@o'neil's) @mary's @mary+")).toEqual([neil!.id, ids.Mary])
  })

  test('name people whose names have parentheses or an emoji, and nobody with the name before it', async () => {
    const people = ['Mary (Sales)', 'Mary 🎉', 'Mary 👩🏽‍💻', 'Mary 🇩🇪'].map(async (userName, index) => {
      const person = await Person.signIn(environment.baseUrl, `other-mary-${index}@example.com`)
      expect(await person.put('/users/me', { userName })).toMatchObject({ status: 200 })
      return person.id
    })
    const [sales, party, coder, german] = await Promise.all(people)
    expect(await mentions('(@mary (sales)) @Mary 🎉🎉')).toEqual([sales, party])
    expect(await mentions('@Mary 👩🏽‍💻, @Mary 🇩🇪!')).toEqual([coder, german])
    expect(await mentions('@Mary (Berlin) @Mary 🎈')).toEqual([ids.Mary])
  })

  test('name people whose names have a joiner, with and without it, and nobody with the name before it', async () => {
    const [ali, alireza] = await Promise.all(
      ['ali@example.com', 'alireza@example.com'].map((email) => Person.signIn(environment.baseUrl, email)),
    )
    await ali!.put('/users/me', { userName: 'علی' })
    await alireza!.put('/users/me', { userName: 'علی\u200cرضا' })
    expect(await mentions('@علی\u200cرضا')).toEqual([alireza!.id])
    expect(await mentions('@علیرضا')).toEqual([alireza!.id])
    expect(await mentions('@علی\u200cها')).toEqual([ali!.id])
  })

  test.each(['@', '＠', '﹫'])('begin with %s, as keyboards of different scripts write it', async (at) => {
    expect(await mentions(`${at}mary`)).toEqual([ids.Mary])
    const { ann } = environment.people
    const { id } = await ann.says('nobody yet', environment.channel.open)
    const edited = await ann.put(`/messages/${id}`, { content: `${at}mary` })
    expect(edited.body.message.mentions).toEqual([ids.Mary])
  })

  test('are in order of the text, each once, unknown names left out', async () => {
    expect(await mentions('@here @nobody-at-all @Mary @channel @mary @here')).toEqual(['@here', ids.Mary, '@channel'])
    expect(await mentions('mail mary@mary or x@here')).toEqual([])
  })

  test('leave out removed people', async () => {
    const gone = await Person.signIn(environment.baseUrl, 'gone@example.com')
    expect(await mentions(`@${gone.userName}`)).toEqual([gone.id])
    expect((await environment.people.ada.delete(`/users/${gone.id}`)).status).toBe(200)
    expect(await mentions(`@${gone.userName}`)).toEqual([])
  })
})
