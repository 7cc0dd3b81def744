import { RequestFailed } from '@parley/client'
import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { passFocus } from './focus.ts'
import { showFailure, textOf } from './problems.ts'
import { useUniqueId } from './unique-id.ts'

interface FieldProps {
  label: string
  name: string
  hint?: string
  type?: 'text' | 'email' | 'password' | 'date' | 'datetime-local'
  defaultValue?: string
  value?: string
  placeholder?: string
  maxLength?: number
  /** The id of a `datalist` with suggestions. */
  list?: string
  /** Called with the text when the person changes it. */
  onInput?: (text: string) => void
  autoComplete?: string
  inputMode?: 'numeric'
  /** The direction of the text. Addresses have the same direction in every language. */
  dir?: 'ltr'
  autoFocus?: boolean
  readOnly?: boolean
  required?: boolean
}

interface LabelledProps {
  /** The id of the control. */
  id: string
  label: string
  hint: string | undefined
  children: ComponentChildren
}

/** A control with its label and its hint. */
const Labelled = ({ id, label, hint, children }: LabelledProps) => (
  <div class="field">
    <label for={id}>{label}</label>
    {children}
    {hint && (
      <span class="hint" id={`${id}-hint`}>
        {hint}
      </span>
    )}
  </div>
)

/** A labelled text field. */
export function Field({ label, hint, type = 'text', onInput, ...input }: FieldProps) {
  const id = useUniqueId()
  return (
    <Labelled id={id} label={label} hint={hint}>
      <input
        id={id}
        class="input"
        // A text has its own direction, so that it begins at its beginning. The styles of an empty field need a placeholder.
        dir="auto"
        placeholder=" "
        {...input}
        onInput={onInput && ((event) => onInput(event.currentTarget.value))}
        ref={input.autoFocus ? focusNew : null}
        type={type as 'text'}
        aria-describedby={hint && `${id}-hint`}
      />
    </Labelled>
  )
}

/** Browsers obey `autofocus` only when a document is loaded and when a dialog is opened. The person may type somewhere else meanwhile. */
const focusNew = (input: HTMLInputElement | null) => {
  if (!document.activeElement?.matches(':read-write')) input?.focus()
}

interface SelectProps<T extends string> {
  label: string
  /** The name of the field in a form. */
  name?: string
  hint?: string
  value?: T
  options: readonly (readonly [value: T, name: string])[]
  onSelect?: (value: T) => void
}

/** A labelled choice. Its parent sets `value`, or a form reads the choice by `name`. */
export function Select<T extends string>({ label, hint, options, onSelect, ...select }: SelectProps<T>) {
  const id = useUniqueId()
  return (
    <Labelled id={id} label={label} hint={hint}>
      <select
        id={id}
        class="input"
        {...select}
        aria-describedby={hint && `${id}-hint`}
        onChange={onSelect && ((event) => onSelect(event.currentTarget.value as T))}
      >
        {options.map(([option, text]) => (
          <option key={option} value={option}>
            {text}
          </option>
        ))}
      </select>
    </Labelled>
  )
}

export interface FormProps {
  /** Called with the values of the fields, by name. An error that it throws is shown in the form, and the typed values stay. */
  onSubmit: (fields: Record<string, string>) => Promise<unknown>
  /** The text of the button. */
  submitLabel: string
  name?: string
  class?: string
  /** Called when the person changes a field. */
  onInput?: () => void
  /** Whether the button is less prominent, because another form of the page is more important. */
  isSecondary?: boolean
  children: ComponentChildren
}

/**
 * A form with one button, which keeps the focus. Until the response has come, it is not sent again. An error is shown as an alert: in the
 * form, where it marks the fields that it is about, or on the page when the form was closed meanwhile.
 */
export function Form({ onSubmit, submitLabel, name, isSecondary = false, children, ...props }: FormProps) {
  const isBusy = useRef(false)
  const [refusal, setRefusal] = useState<RequestFailed | null>(null)
  const alert = useRef<HTMLDivElement>(null)
  useEffect(() => {
    // Without a response no field was refused.
    if (!refusal?.status) return
    import('./refused-fields.ts').then(({ markRefused }) => {
      if (alert.current) markRefused(alert.current, refusal)
    }, reportError)
  }, [refusal])

  async function submit(event: SubmitEvent) {
    event.preventDefault()
    if (isBusy.current) return
    const form = event.currentTarget as HTMLFormElement
    const fields = Object.fromEntries([...new FormData(form)].map(([key, value]) => [key, String(value)]))
    isBusy.current = true
    form.ariaBusy = 'true'
    setRefusal(null)
    try {
      await onSubmit(fields)
    } catch (error) {
      if (!(error instanceof RequestFailed)) throw error
      if (form.isConnected) setRefusal(error)
      else showFailure(error)
    } finally {
      isBusy.current = false
      form.ariaBusy = null
    }
  }

  return (
    <form ref={passFocus} {...props} onSubmit={submit} aria-label={name} noValidate>
      {children}
      {refusal !== null && (
        <div ref={alert} class="alert" role="alert">
          {textOf(refusal)}
        </div>
      )}
      <button type="submit" class={isSecondary ? 'button' : 'button primary'}>
        {submitLabel}
      </button>
    </form>
  )
}
