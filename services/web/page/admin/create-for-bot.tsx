import type { Bot } from '@parley/contract'
import { t } from '../texts/texts.ts'

interface CreateForBotProps {
  /** The text of the button. */
  label: string
  onCreate: () => void
  bots: readonly Bot[]
  /** The sentence that explains why a bot is needed. */
  reason: string
  /** The sentence that is shown while the list is empty. */
  none: string
  isEmpty: boolean
}

/** The head of a page that lists things of bots: the button to create one, or a link to create the first bot. */
export const CreateForBot = ({ label, onCreate, bots, reason, none, isEmpty }: CreateForBotProps) => (
  <>
    <p>
      <button type="button" class="button primary" disabled={bots.length === 0} onClick={onCreate}>
        {label}
      </button>
    </p>
    {bots.length === 0 && (
      <p>
        {reason} <a href="/admin/bots">{t('Create bot')}</a>
      </p>
    )}
    {bots.length > 0 && isEmpty && <p class="quiet">{none}</p>}
  </>
)
