import { t } from '../texts/texts.ts'
import { RequestButton } from './request-button.tsx'

/** The button below a list that is loaded page by page. */
export const ShowMore = ({ onMore }: { onMore: () => Promise<unknown> }) => (
  <RequestButton onRequest={onMore}>{t('Show more')}</RequestButton>
)
