import type { Workspace } from '../app/workspace.ts'
import { peopleByName } from '../app/workspace.ts'
import { findEmoji, loadEmoji } from './emoji.ts'

export interface Option {
  key: string
  /** What stands in the list. */
  label: string
  hint: string
  /** What takes the place of the typed text. */
  text: string
}

export interface Completion {
  /** Where the typed text begins and ends. */
  from: number
  to: number
  options: readonly Option[]
}

const mostOptions = 8
const shortest = { '@': 0, '#': 0, ':': 2 } as const

/** What could be meant by the word before the caret: a person after `@`, a channel after `#`, an emoji after `:`. */
export function completionsFor(text: string, caret: number, workspace: Workspace): Completion | null {
  const found = /(?:^|[\s(])([@#:])([^\s@#:]*)$/.exec(text.slice(0, caret))
  if (!found) return null
  const [, sign, typed] = found as unknown as [string, keyof typeof shortest, string]
  if (typed.length < shortest[sign]) return null
  const options = optionsFor(sign, typed.toLowerCase(), workspace)
  return options.length === 0 ? null : { from: caret - typed.length - 1, to: caret, options }
}

function optionsFor(sign: '@' | '#' | ':', typed: string, workspace: Workspace): Option[] {
  if (sign === ':') {
    void loadEmoji()
    return findEmoji(typed, mostOptions).map(({ emoji, shortNames }) => ({
      key: emoji,
      label: emoji,
      hint: `:${shortNames[0]}:`,
      text: `${emoji} `,
    }))
  }
  if (sign === '#') {
    return firstMatches(workspace.channels.value, typed, ({ name }) => name).map(({ id, name, topic }) => ({
      key: id,
      label: `#${name}`,
      hint: topic ?? '',
      text: `#${name} `,
    }))
  }
  const everybody = ['channel', 'here'].map((name) => ({ id: name, userName: name, email: '' }))
  return firstMatches([...peopleByName(workspace.users.value), ...everybody], typed, ({ userName }) => userName).map(
    ({ id, userName, email }) => ({ key: id, label: `@${userName}`, hint: email, text: `@${userName} ` }),
  )
}

/** Those whose name begins with the text before those in which a later word does. */
function firstMatches<T>(all: readonly T[], typed: string, nameOf: (item: T) => string): T[] {
  const begins: T[] = []
  const later: T[] = []
  for (const item of all) {
    const name = nameOf(item).toLowerCase()
    if (name.startsWith(typed)) begins.push(item)
    else if (name.split(/[\s._-]+/).some((word) => word.startsWith(typed))) later.push(item)
  }
  return [...begins, ...later].slice(0, mostOptions)
}
