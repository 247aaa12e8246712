-- How clients are recognized. Read with settings.settings_all.

-- name: gateway_config_set
-- Behind access.authenticate.
-- $1 wanted jsonb (values by names of settings)
SELECT gateway_config_set($1);
