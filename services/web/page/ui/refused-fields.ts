import type { RequestFailed } from '@parley/client'
import { nextId } from './unique-id.ts'

type Control = HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement

/**
 * Marks the fields of a form that a refusal is about, until the person changes them or sends the form again. A screen reader then says at the
 * field that it is invalid, and reads the error. `alert` is the element with the error.
 */
export function markRefused(alert: HTMLElement, refusal: RequestFailed) {
  const form = alert.closest('form')!
  alert.id ||= nextId()
  for (const field of refusedFields(form, refusal)) {
    const described = field.getAttribute('aria-describedby')
    field.ariaInvalid = 'true'
    field.setAttribute('aria-describedby', [described, alert.id].filter(Boolean).join(' '))
    const changed = new AbortController()
    const unmark = () => {
      field.ariaInvalid = null
      if (described) field.setAttribute('aria-describedby', described)
      else field.removeAttribute('aria-describedby')
      changed.abort()
    }
    field.addEventListener('input', unmark, { signal: changed.signal })
    form.addEventListener('submit', unmark, { signal: changed.signal })
  }
}

/**
 * The fields that the sentence is about: mostly it begins with the name of the field, in the interface or in words. What exists already is
 * told by the first field of a form. Otherwise they are the fields that the browser finds invalid, for example because they are empty.
 */
function refusedFields(form: HTMLFormElement, { message, code }: RequestFailed): readonly Control[] {
  const fields = [...form.querySelectorAll<Control>('input, select, textarea')]
  const named = (name: string) => fields.filter((field) => wordsOf(field.name) === name)
  if (code === 'duplicate') return fields.slice(0, 1)
  const subject = message.replace(/^(The|This) /, '').split(/ (?:is|must|has|may) /)[0]!
  const subjects = subject.split(' or the ').map((name) => wordsOf(name.replace('e-mail address', 'email')))
  const found = [code, ...subjects].flatMap((name) => firstFound([name, `new ${name}`, lastWordOf(name)].map(named)))
  return found.length > 0 ? found : fields.filter(({ validity }) => !validity.valid)
}

const firstFound = (all: readonly Control[][]) => all.find(({ length }) => length > 0) ?? []
const lastWordOf = (name: string) => name.split(' ').at(-1)!

/** `newPassword` as `new password`. */
const wordsOf = (name: string) => name.replace(/[A-Z]/g, ' $&').trim().toLowerCase()
