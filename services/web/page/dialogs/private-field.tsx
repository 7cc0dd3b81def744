import { t } from '../texts/texts.ts'
import { useUniqueId } from '../ui/unique-id.ts'

/** The checkbox that makes a channel private, and what that means. */
export function PrivateField({ isPrivate = false }: { isPrivate?: boolean }) {
  const id = useUniqueId()
  return (
    <div class="field">
      <label class="check">
        <input type="checkbox" name="isPrivate" defaultChecked={isPrivate} aria-describedby={id} />
        {t('Private')}
      </label>
      <span class="hint" id={id}>
        {t('Only members and admins can find and read a private channel. Its creator and admins add people.')}
      </span>
    </div>
  )
}
