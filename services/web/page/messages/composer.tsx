import type { Message } from '@parley/contract'
import { useSignal } from '@preact/signals'
import { useEffect, useId, useRef } from 'preact/hooks'
import { attempt } from '../app/problems.ts'
import type { Workspace } from '../app/workspace.ts'
import { sizeOf, t } from '../texts/texts.ts'
import { IconButton, type IconName } from '../ui/icons.tsx'
import { type Completion, completionsFor, type Option } from './completion.ts'
import { keepDraft, readDraft } from './drafts.ts'
import { type ChosenFile, upload, uploadedName } from './uploads.ts'

interface ComposerProps {
  workspace: Workspace
  channelId: string
  threadId?: string
  /** The accessible name of the text box. */
  name: string
  quoted?: Message | null
  onQuoteDone?: () => void
  /** ArrowUp in an empty text box. */
  onEditLast?: () => void
  files: readonly ChosenFile[]
  onFiles: (files: readonly ChosenFile[]) => void
}

const typingPauseMs = 2_000

/** Where a message is written: Enter sends, Shift+Enter begins a line. The text is kept as a draft. */
export function Composer(props: ComposerProps) {
  const { workspace, channelId, threadId, name, quoted, onQuoteDone, onEditLast, files, onFiles } = props
  const place = threadId ?? channelId
  const box = useRef<HTMLTextAreaElement>(null)
  const picker = useRef<HTMLInputElement>(null)
  const completion = useSignal<Completion | null>(null)
  const chosen = useSignal(0)
  const lastTyping = useRef(0)
  const listId = useId()

  useEffect(() => {
    box.current!.focus()
  }, [place, quoted?.id])

  function complete() {
    const { value, selectionStart, selectionEnd } = box.current!
    completion.value = selectionStart === selectionEnd ? completionsFor(value, selectionStart, workspace) : null
    chosen.value = 0
  }

  function onInput() {
    keepDraft(workspace.myId, place, box.current!.value)
    complete()
    tellTyping()
  }

  function tellTyping() {
    const now = Date.now()
    if (threadId !== undefined || box.current!.value === '' || now - lastTyping.current < typingPauseMs) return
    lastTyping.current = now
    const told = channelId.startsWith('dm:')
      ? workspace.client.request('PUT /conversations/:conversationId/typing', { params: { conversationId: channelId } })
      : workspace.client.request('PUT /channels/:channelId/typing', { params: { channelId } })
    told.catch(() => {
      // Nobody misses it.
    })
  }

  function take({ text }: Option) {
    const { from, to } = completion.value!
    box.current!.setRangeText(text, from, to, 'end')
    completion.value = null
    onInput()
    box.current!.focus()
  }

  function send() {
    const content = box.current!.value.trim()
    const uploaded = files.map(uploadedName)
    if ((content === '' && files.length === 0) || uploaded.includes(undefined)) return
    const attachments = uploaded.map((filename) => ({ filename: filename! }))
    const sent = workspace.send({
      channelId,
      ...(threadId !== undefined && { parentId: threadId }),
      body: {
        content,
        ...(attachments.length > 0 && { attachments }),
        ...(quoted && { quotedMessageId: quoted.id }),
      },
    })
    void attempt(sent)
    box.current!.value = ''
    keepDraft(workspace.myId, place, '')
    completion.value = null
    onFiles([])
    onQuoteDone?.()
    box.current!.focus()
  }

  function onKeyDown(event: KeyboardEvent) {
    if (event.isComposing) return
    const open = completion.value
    if (open) {
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
      if (step !== undefined) {
        event.preventDefault()
        chosen.value = (chosen.value + step + open.options.length) % open.options.length
        return
      }
      if (event.key === 'Enter' || event.key === 'Tab') {
        event.preventDefault()
        return take(open.options[chosen.value]!)
      }
      if (event.key === 'Escape') {
        event.stopPropagation()
        completion.value = null
        return
      }
    }
    if (event.key === 'Enter' && !event.shiftKey) {
      event.preventDefault()
      send()
    } else if (event.key === 'ArrowUp' && box.current!.value === '' && onEditLast) {
      event.preventDefault()
      onEditLast()
    } else if (event.key === 'Escape' && quoted) onQuoteDone?.()
  }

  function wrap(sign: string) {
    const { selectionStart, selectionEnd, value } = box.current!
    box.current!.setRangeText(
      `${sign}${value.slice(selectionStart, selectionEnd)}${sign}`,
      selectionStart,
      selectionEnd,
      'end',
    )
    if (selectionStart === selectionEnd)
      box.current!.setSelectionRange(selectionStart + sign.length, selectionStart + sign.length)
    onInput()
    box.current!.focus()
  }

  const add = (list: FileList | null | undefined) => {
    if (list?.length) onFiles([...files, ...[...list].map((file) => upload(workspace.client, file))])
  }
  const { value: open } = completion
  const formats: [IconName, string, string][] = [
    ['bold', t('Bold'), '**'],
    ['italic', t('Italic'), '_'],
    ['strike', t('Strikethrough'), '~'],
    ['code', t('Code'), '`'],
  ]

  return (
    <div class="composer">
      {open && (
        <div class="options" role="listbox" id={listId} aria-label={t('Suggestions')}>
          {open.options.map((option, index) => (
            <div
              key={option.key}
              id={`${listId}-${index}`}
              class="option"
              role="option"
              tabIndex={-1}
              aria-selected={index === chosen.value}
              onPointerDown={(event) => {
                event.preventDefault()
                take(option)
              }}
            >
              <span dir="auto">{option.label}</span>
              <span class="quiet">{option.hint}</span>
            </div>
          ))}
        </div>
      )}
      {quoted && (
        <div class="chosen-files">
          <span class="chosen-file">
            {t('Quoting {name}', { name: quoted.author.userName })}
            <IconButton icon="close" name={t('Remove quotation')} onClick={() => onQuoteDone?.()} />
          </span>
        </div>
      )}
      {files.length > 0 && (
        <div class="chosen-files">
          {files.map((chosen) => (
            <ChosenFileChip
              key={chosen.id}
              chosen={chosen}
              onRemove={() => {
                chosen.abort()
                onFiles(files.filter((one) => one !== chosen))
              }}
            />
          ))}
        </div>
      )}
      <textarea
        ref={box}
        aria-label={name}
        placeholder={name}
        defaultValue={readDraft(workspace.myId, place)}
        dir="auto"
        rows={1}
        aria-autocomplete="list"
        aria-controls={open ? listId : undefined}
        aria-activedescendant={open ? `${listId}-${chosen.value}` : undefined}
        onInput={onInput}
        onKeyDown={onKeyDown}
        onBlur={() => (completion.value = null)}
        onPaste={(event) => {
          if (event.clipboardData?.files.length) {
            event.preventDefault()
            add(event.clipboardData.files)
          }
        }}
      />
      <div class="composer-row">
        <IconButton icon="attach" name={t('Attach files')} onClick={() => picker.current!.click()} />
        <input
          ref={picker}
          class="visually-hidden"
          type="file"
          multiple
          tabIndex={-1}
          aria-label={t('Attach files')}
          onChange={(event) => {
            add(event.currentTarget.files)
            event.currentTarget.value = ''
          }}
        />
        {formats.map(([icon, format, sign]) => (
          <IconButton key={icon} icon={icon} name={format} onClick={() => wrap(sign)} />
        ))}
        <span class="spring" />
        <IconButton icon="send" name={t('Send')} onClick={send} />
      </div>
    </div>
  )
}

function ChosenFileChip({ chosen, onRemove }: { chosen: ChosenFile; onRemove: () => void }) {
  const { file, state } = chosen
  const { value } = state
  return (
    <span class="chosen-file">
      <span dir="auto">{file.name}</span>
      <span class="quiet">{sizeOf(file.size)}</span>
      {'sent' in value && (
        <span
          class="quiet"
          role="progressbar"
          aria-label={file.name}
          aria-valuemin={0}
          aria-valuemax={100}
          aria-valuenow={Math.round(value.sent * 100)}
        >
          {Math.round(value.sent * 100)} %
        </span>
      )}
      {'failure' in value && (
        <span class="send-state" data-failed role="alert">
          {value.failure}
        </span>
      )}
      <IconButton icon="close" name={t('Remove {name}', { name: file.name })} onClick={onRemove} />
    </span>
  )
}
