import type { ComponentChildren } from 'preact'
import { draftIdOf, hasDraft, readDraft, storeDraft } from '../app/drafts.ts'
import type { TypedEdit } from '../app/typed-edits.ts'
import type { Workspace } from '../app/workspace.ts'
import { t } from '../texts/texts.ts'
import { copy } from '../ui/copy.ts'
import { passFocus } from '../ui/focus.ts'
import { showNotice } from '../ui/notice.ts'
import { useUniqueId } from '../ui/unique-id.ts'

interface UnsentTextProps {
  text: string
  /** What was to be sent with the text. */
  children?: ComponentChildren
  /** Forgets the text, if the person can do that. */
  onDiscard?: () => void
}

/** A text of a person who cannot send it any more, so that they can copy it. */
export function UnsentText({ text, children, onDiscard }: UnsentTextProps) {
  const id = useUniqueId()
  if (text === '' && !onDiscard) return null
  return (
    <>
      {text !== '' && (
        <div class="field">
          <label for={id}>{t('Your unsent text')}</label>
          <textarea id={id} class="input" readOnly rows={4} dir="auto" value={text} />
        </div>
      )}
      {children}
      <div class="dialog-actions" ref={passFocus}>
        {text !== '' && (
          <button
            type="button"
            class="button"
            onClick={async () => {
              if (await copy(text)) showNotice(t('Text copied'))
            }}
          >
            {t('Copy text')}
          </button>
        )}
        {onDiscard && (
          <button type="button" class="button" onClick={onDiscard}>
            {t('Discard')}
          </button>
        )}
      </div>
    </>
  )
}

interface UnsentDraftProps {
  workspace: Workspace
  channelId: string
  threadId?: string
}

/** The draft of a channel, conversation or thread in which the person cannot write any more. */
export function UnsentDraft({ workspace: { myId }, channelId, threadId }: UnsentDraftProps) {
  const id = draftIdOf(channelId, threadId)
  return hasDraft(myId, id) && <UnsentText text={readDraft(myId, id)} onDiscard={() => storeDraft(myId, id, '')} />
}

interface UnsavedEditsProps {
  workspace: Workspace
  isWanted: (edit: TypedEdit) => boolean
}

/** The edits that a person has not saved, of messages that they cannot see any more. */
export const UnsavedEdits = ({ workspace: { edits }, isWanted }: UnsavedEditsProps) => (
  <>
    {[...edits.all()].map(
      ([messageId, edit]) =>
        isWanted(edit) && (
          <UnsentText key={messageId} text={edit.text} onDiscard={() => edits.set(messageId, undefined)} />
        ),
    )}
  </>
)
