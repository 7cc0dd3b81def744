import { t } from '../texts/texts.ts'
import { IconButton } from '../ui/icons.tsx'
import { hasUpdate, loadUpdate } from './worker.ts'

/**
 * A notice that a newer build of the page is ready. The person decides when to load it, so that they do not lose what they are doing.
 * When they close it, the notice comes again with the next build.
 */
export const UpdateNotice = () =>
  hasUpdate.value ? (
    <div class="update-notice" role="status">
      <span>{t('A new version of this page is ready')}</span>
      <button type="button" class="button" onClick={loadUpdate}>
        {t('Reload')}
      </button>
      <IconButton icon="close" name={t('Close')} onClick={() => (hasUpdate.value = false)} />
    </div>
  ) : null
