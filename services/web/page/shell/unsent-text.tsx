import { useId } from 'preact/hooks'
import { readDraft } from '../app/drafts.ts'
import type { Workspace } from '../app/workspace.ts'
import { t } from '../texts/texts.ts'
import { copy } from '../ui/copy.ts'
import { showNotice } from '../ui/problems.ts'

interface UnsentTextProps {
  workspace: Workspace
  /** The channel, conversation or thread for which the text was typed. */
  destinationId: string
}

/** The draft of a person who cannot send it any more, so that they can copy it. */
export function UnsentText({ workspace, destinationId }: UnsentTextProps) {
  const id = useId()
  const text = readDraft(workspace.myId, destinationId)
  if (text === '') return null
  return (
    <>
      <div class="field">
        <label for={id}>{t('Your unsent text')}</label>
        <textarea id={id} class="input" readOnly rows={4} dir="auto" value={text} />
      </div>
      <button
        type="button"
        class="button"
        onClick={async () => {
          if (await copy(text)) showNotice(t('Text copied'))
        }}
      >
        {t('Copy text')}
      </button>
    </>
  )
}
