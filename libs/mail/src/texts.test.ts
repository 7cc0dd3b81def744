import { languages } from '@parley/contract'
import { describe, expect, test } from 'vitest'
import { htmlMail, mailTexts } from './index.ts'

describe('Arabic texts', () => {
  const { missedMessages, magicLink } = mailTexts('ar')

  test('have the plural that belongs to the number', () => {
    expect([0, 1, 2, 3, 11, 100].map(missedMessages.files)).toEqual([
      '0 ملف',
      'ملف واحد',
      'ملفان',
      '3 ملفات',
      '11 ملفًا',
      '100 ملف',
    ])
    expect(magicLink(1).closing).toContain('خلال دقيقة.')
    expect(magicLink(15).closing).toContain('خلال 15 دقيقة.')
  })

  test('isolate names, so that a name in Latin letters does not change the order of the words', () => {
    expect(missedMessages.wroteToYou('carl')).toContain('\u2068carl\u2069')
  })
})

test.each(languages)('a mail in the language %s says so, with its direction', (language) => {
  const html = htmlMail(language, ['<p>a text</p>'])
  expect(html).toContain(`<html lang="${language}" dir="${language === 'ar' ? 'rtl' : 'ltr'}">`)
})

test.each(languages)('the texts in the language %s contain what they are told', (language) => {
  const { invitation, reset, notices, missedMessages, pausedSubscription } = mailTexts(language)
  expect(invitation({ server: 'The Server', inviter: 'ada', setsPassword: true }).opening).toMatch(/ada.*The Server/)
  expect(reset('The Server').opening).toContain('The Server')
  for (const notice of Object.values(notices)) {
    expect(notice('The Server')).toEqual({
      subject: expect.stringContaining('The Server'),
      sentence: expect.stringContaining('The Server'),
    })
  }
  const mention = { author: 'carl', whom: '@team', channel: '#general', isThread: true }
  for (const part of ['carl', '@team', '#general']) expect(missedMessages.mentioned(mention)).toContain(part)
  const { text } = pausedSubscription({ url: 'https://receiver.example/', reason: 'It answered 410' })
  expect(text).toMatch(/https:\/\/receiver\.example\/.*It answered 410/)
})
