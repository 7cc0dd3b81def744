import { i18n } from '@lingui/core'
import { compileMessage } from '@lingui/message-utils/compileMessage'
import { beforeAll, describe, expect, test } from 'vitest'
import { addLanguage } from './add-language.ts'
import german from './de.json'

const compiled = (sentences: Record<string, string>) =>
  Object.fromEntries(Object.entries(sentences).map(([english, text]) => [english, compileMessage(text)]))

describe('a sentence of the server in German', () => {
  let translate: (sentence: string) => string
  beforeAll(() => {
    translate = addLanguage('de', {}, compiled(german))
    i18n.activate('de')
  })

  test.each([
    ['The current password is wrong', 'Das aktuelle Passwort ist falsch'],
    ['There is no such channel', 'Diesen Kanal gibt es nicht'],
    ['There is no such channel.', 'Diesen Kanal gibt es nicht.'],
    ['There is a command /deploy already', 'Es gibt schon einen Befehl /deploy'],
    [
      'A bot can have at most 1000 subscriptions. Please delete one first',
      'Ein Bot kann höchstens 1.000 Abonnements haben. Bitte lösche zuerst eines',
    ],
    ['The file has 12 bytes, and 1300 were announced', 'Die Datei hat 12 Bytes, angekündigt waren 1.300'],
  ])('%s', (english, translated) => {
    expect(translate(english)).toBe(translated)
  })

  test('is translated as a whole, with what a value means', () => {
    expect(translate('You are shown as away.')).toBe('Du wirst als abwesend angezeigt.')
  })

  test('begins with the name of the field in German, if the page has one', () => {
    expect(translate('newPassword is shorter than 15 characters')).toBe('Das neue Passwort hat weniger als 15 Zeichen')
    expect(translate('members[0].id is missing')).toBe('members[0].id fehlt')
  })

  test('is the one whose text says the most', () => {
    expect(translate('name is longer than 80 characters')).toBe('Der Name darf höchstens 80 Zeichen haben')
    expect(translate('limit must be a whole number, written in digits')).toBe(
      'limit muss eine ganze Zahl in Ziffern sein',
    )
    expect(translate('limit must be a number')).toBe('limit muss sein: a number')
  })

  test.each([
    'A sentence of a newer server',
    'must not be empty',
    ' is missing',
    'Two words is missing',
    'constructor',
    '',
  ])('stays as it is when it is unknown: “%s”', (sentence) => {
    expect(translate(sentence)).toBe(sentence)
  })

  test.each(['{0}', '{1, number}', '$&', '#', ' already', 'x already already', "'{0}'", '<b>', '\n'])(
    'keeps a value that a person chose: “%s”',
    (value) => {
      expect(translate(`There is a command /${value} already`)).toBe(`Es gibt schon einen Befehl /${value}`)
      expect(translate(`The content of the file does not match the extension of its name: ${value}`)).toBe(
        `Der Inhalt der Datei passt nicht zur Endung ihres Namens: ${value}`,
      )
    },
  )

  test('may have a very long value with the words of the sentence', () => {
    const value = ' and '.repeat(200_000)
    expect(translate(`The file has ${value} bytes`)).toContain(value)
  })
})
